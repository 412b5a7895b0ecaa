/* Messages of n rows put together from pieces, in one pass, a row after the other.

   The pieces are those of ggfmt/columnar/pieces.py: constants, arrays, texts with an encoding, and what makes a tree of
   them. They become a list of steps, in which a condition is a jump, and the steps are gone through for each row. */
#include "arrow.h"
#include "avro.h"
#include "escape.h"

#include <stdlib.h>

enum Action { CONSTANT, TEXT_OF, NUMBER, UNLESS, JUMP, OPEN, COMMA, REPEAT };

enum { MAX_DEPTH = 32, NO_SCOPE = -1, SHORT = 512 };

typedef struct {
    enum Action action;
    Encoding encoding;
    int64_t to;  /* where UNLESS and JUMP go on, and where REPEAT ends; of COMMA the place of its OPEN */
    size_t mark; /* of OPEN: how many bytes there were */
    Slice lead;  /* what CONSTANT writes, precedes a value, or divides the items of REPEAT */
    Slice tail;  /* follows a value */
    Slice null;  /* stands for a NULL; starts at NULL where there is none */
    ArrowView view;
} Step;

typedef struct {
    Memory memory; /* of constants, behind which SLACK bytes more can be read */
    Step *steps;
    int64_t count;
    int64_t rows;    /* -1 until an array shows it */
    int64_t scope;   /* the innermost OPEN */
    PyObject *kinds; /* the types Text, Conditional, CommaJoined, Repeated, Comma, Equals */
    int64_t fence;   /* a jump goes here: constants before it and behind it stay two */
} Plan;

enum { TEXT_KIND, CONDITIONAL_KIND, COMMA_JOINED_KIND, REPEATED_KIND, COMMA_KIND, EQUALS_KIND, KINDS };

/* The plan */

static Step *add(Plan *plan, enum Action action) {
    Step *steps = room_for_one(plan->steps, (size_t)plan->count, sizeof(Step));
    if (steps == NULL)
        return (Step *)(void *)PyErr_NoMemory();
    plan->steps = steps;
    Step *step = &steps[plan->count++];
    *step = (Step){.action = action};
    return step;
}

/* Copies a constant behind the text that is there. */
static int read_constant(Plan *plan, PyObject *object, Slice *constant) {
    const char *text = NULL;
    Py_ssize_t length = 0;
    if (PyUnicode_Check(object)) {
        text = PyUnicode_AsUTF8AndSize(object, &length);
    } else if (PyBytes_Check(object)) {
        text = PyBytes_AsString(object);
        length = PyBytes_Size(object);
    } else {
        PyErr_Format(PyExc_TypeError, "a constant piece is text or bytes, not %R", Py_TYPE(object));
    }
    char *copy = text == NULL ? NULL : memory_make(&plan->memory, constant->length + (size_t)length + SLACK, 1);
    if (copy == NULL)
        return -1;
    if (constant->length)
        memcpy(copy, constant->start, constant->length);
    memcpy(copy + constant->length, text, (size_t)length);
    *constant = (Slice){copy, constant->length + (size_t)length};
    return 0;
}

/* A constant of its own, or more of a short one before. */
static int add_constant(Plan *plan, PyObject *object) {
    Step *last = plan->count > plan->fence ? &plan->steps[plan->count - 1] : NULL;
    if (last == NULL || last->action != CONSTANT || last->lead.length > SHORT)
        last = add(plan, CONSTANT);
    return last == NULL ? -1 : read_constant(plan, object, &last->lead);
}

/* Where a jump goes: behind all steps there are. */
static void land(Plan *plan, int64_t jump) {
    plan->steps[jump].to = plan->fence = plan->count;
}

/* The view of an array in a step, which has as many rows as all others. */
static int read_array(Step *step, PyObject *array, const char *kinds, int64_t *rows) {
    if (arrow_view(array, kinds, &step->view) < 0)
        return -1;
    if (*rows < 0)
        *rows = step->view.length;
    if (*rows == step->view.length)
        return 0;
    PyErr_Format(PyExc_ValueError, "an array of %lld rows among others of %lld", (long long)step->view.length,
                 (long long)*rows);
    return -1;
}

static int read_pieces(Plan *plan, PyObject *pieces, int64_t *rows, int depth);

static int read_text(Plan *plan, PyObject *piece, int64_t *rows) {
    PyObject *array, *null, *lead, *tail;
    int encoding;
    Step *step = add(plan, TEXT_OF);
    if (step == NULL || !PyArg_ParseTuple(piece, "OiOOO", &array, &encoding, &null, &lead, &tail))
        return -1;
    if (encoding < 0 || encoding >= ENCODINGS)
        return refuse("an unknown encoding");
    step->encoding = (Encoding)encoding;
    int of_numbers = (step->encoding >= DIGITS && step->encoding <= NANOS) || step->encoding == VARINT;
    if (of_numbers)
        step->action = NUMBER;
    if (read_array(step, array, of_numbers ? "l" : step->encoding == AS_IS ? "uzw" : "uz", rows) < 0 ||
        (null != Py_None && read_constant(plan, null, &step->null) < 0) || read_constant(plan, lead, &step->lead) < 0)
        return -1;
    return read_constant(plan, tail, &step->tail);
}

static int read_condition(Plan *plan, PyObject *where, int64_t *rows) {
    PyObject *array, *text;
    Step *step = add(plan, UNLESS);
    if (step == NULL)
        return -1;
    if ((PyObject *)Py_TYPE(where) != PyTuple_GetItem(plan->kinds, EQUALS_KIND))
        return read_array(step, where, "b", rows);
    if (!PyArg_ParseTuple(where, "OO", &array, &text) || read_array(step, array, "u", rows) < 0)
        return -1;
    return read_constant(plan, text, &step->lead);
}

static int read_conditional(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    PyObject *where, *pieces, *otherwise;
    int64_t condition = plan->count, jump;
    if (!PyArg_ParseTuple(piece, "OOO", &where, &pieces, &otherwise) || read_condition(plan, where, rows) < 0 ||
        read_pieces(plan, pieces, rows, depth) < 0)
        return -1;
    Py_ssize_t others = PySequence_Size(otherwise);
    jump = plan->count;
    if (others < 0 || (others && add(plan, JUMP) == NULL))
        return -1;
    land(plan, condition);
    if (others == 0)
        return 0;
    if (read_pieces(plan, otherwise, rows, depth) < 0)
        return -1;
    land(plan, jump);
    return 0;
}

static int read_repeated(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    PyObject *lists, *pieces, *between;
    int counted;
    int64_t place = plan->count, items = -1, scope = plan->scope;
    Step *step = add(plan, REPEAT);
    if (step == NULL || !PyArg_ParseTuple(piece, "OOOp", &lists, &pieces, &between, &counted) ||
        read_array(step, lists, "+", rows) < 0 || read_constant(plan, between, &step->lead) < 0)
        return -1;
    step->encoding = counted ? SIZED : AS_IS;
    plan->scope = NO_SCOPE;
    if (read_pieces(plan, pieces, &items, depth) < 0)
        return -1;
    plan->scope = scope;
    land(plan, place);
    step = &plan->steps[place];
    int32_t last = step->view.ends[step->view.length], first = step->view.ends[0];
    int are_items = first >= 0 && first <= last && (items < 0 || last <= items);
    return are_items ? 0 : refuse("lists of other items than those of the pieces");
}

static int read_comma_joined(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    PyObject *pieces;
    int64_t scope = plan->scope;
    plan->scope = plan->count;
    if (!PyArg_ParseTuple(piece, "O", &pieces) || add(plan, OPEN) == NULL || read_pieces(plan, pieces, rows, depth) < 0)
        return -1;
    plan->scope = scope;
    return 0;
}

static int read_piece(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    PyObject *type = (PyObject *)Py_TYPE(piece);
    int kind = 0;
    if (PyUnicode_Check(piece) || PyBytes_Check(piece))
        return add_constant(plan, piece);
    while (kind < KINDS && type != PyTuple_GetItem(plan->kinds, kind))
        kind++;
    switch (kind) {
    case TEXT_KIND:
        return read_text(plan, piece, rows);
    case CONDITIONAL_KIND:
        return read_conditional(plan, piece, rows, depth);
    case REPEATED_KIND:
        return read_repeated(plan, piece, rows, depth);
    case COMMA_JOINED_KIND:
        return read_comma_joined(plan, piece, rows, depth);
    }
    Step *step;
    if (kind == COMMA_KIND) {
        if (plan->scope == NO_SCOPE)
            return refuse("a comma without members");
        if ((step = add(plan, COMMA)) == NULL)
            return -1;
        step->to = plan->scope;
        return 0;
    }
    if (!PyObject_HasAttrString(piece, "as_py")) {
        step = add(plan, TEXT_OF);
        return step == NULL ? -1 : read_array(step, piece, "uzw", rows);
    }
    PyObject *value = PyObject_CallMethod(piece, "as_py", NULL); /* a scalar is a constant */
    int added = value == NULL ? -1 : add_constant(plan, value);
    Py_XDECREF(value);
    return added;
}

static int read_pieces(Plan *plan, PyObject *pieces, int64_t *rows, int depth) {
    if (depth >= MAX_DEPTH) {
        PyErr_SetString(PyExc_NotImplementedError, "pieces nested too deeply");
        return -1;
    }
    PyObject *sequence = PySequence_Tuple(pieces);
    if (sequence == NULL)
        return -1;
    int read = 0;
    for (Py_ssize_t i = 0; read == 0 && i < PyTuple_Size(sequence); i++)
        read = read_piece(plan, PyTuple_GetItem(sequence, i), rows, depth + 1);
    Py_DECREF(sequence);
    return read;
}

/* The messages. A verdict is ODD where a value is null that may not be */

static inline int append(Bytes *out, const Slice *constant) {
    if (bytes_reserve(out, constant->length + SLACK) < 0)
        return -1;
    copy_short(out->data + out->size, constant->start, constant->length, SLACK);
    out->size += constant->length;
    return 0;
}

static char *put_varint(char *to, uint64_t number) {
    for (; number > 0x7f; number >>= 7)
        *to++ = (char)(number | 0x80);
    *to++ = (char)number;
    return to;
}

/* A number as Avro has it. */
static char *put_long(char *to, int64_t number) {
    return put_varint(to, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

/* How many bytes or items follow, as Avro has it. */
static int append_count(Bytes *out, int64_t count) {
    if (bytes_reserve(out, 16) < 0)
        return -1;
    out->size = (size_t)(put_long(out->data + out->size, count) - out->data);
    return 0;
}

static Verdict put_number(Bytes *out, const Step *step, int64_t row) {
    int64_t number;
    memcpy(&number, step->view.data + row * 8, 8);
    if (bytes_reserve(out, 32) < 0)
        return NO_MEMORY;
    char *to = out->data + out->size;
    switch (step->encoding) {
    case MILLIS: /* those that have passed, before 1970 too */
        to += integer_text(to, number / 1000 - (number % 1000 < 0));
        break;
    case NANOS:
        to += integer_text(to, number);
        memcpy(to, "000", 3);
        to += number == 0 ? 0 : 3;
        break;
    case VARINT:
        to = put_long(to, number);
        break;
    default:
        to += integer_text(to, number);
    }
    out->size = (size_t)(to - out->data);
    return TAKEN;
}

/* A text that is known to be a number of few digits: the digits as one number, and how many there are behind the point. */
static int64_t read_digits(const char *at, const char *end, int *negative, int *behind) {
    int64_t number = 0;
    *negative = at < end && *at == '-';
    *behind = 0;
    const char *point = NULL;
    for (at += *negative; at < end; at++) {
        if (*at == '.')
            point = at;
        else if (number < INT64_MAX / 10)
            number = number * 10 + (*at - '0');
    }
    if (point != NULL)
        *behind = (int)(end - point - 1);
    return number;
}

/* Texts as Avro has values of their type. Division by a power of ten that is exact rounds once, as it must be. */
static Verdict put_value(Bytes *out, Encoding encoding, const char *at, const char *end) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int negative, behind;
    if (bytes_reserve(out, 16) < 0)
        return NO_MEMORY;
    char *to = out->data + out->size;
    if (encoding == BOOLEAN) {
        *to = at < end && *at == 't';
        out->size++;
        return TAKEN;
    }
    int64_t number = read_digits(at, end, &negative, &behind);
    if (encoding == LONG) {
        number = negative ? -number : number;
        out->size = (size_t)(put_long(to, number) - out->data);
        return TAKEN;
    }
    behind = behind > 15 ? 15 : behind;
    uint64_t bits;
    size_t width;
    if (encoding == DOUBLE) {
        double value = (double)number / powers[behind];
        value = negative ? -value : value;
        memcpy(&bits, &value, width = sizeof(value));
    } else {
        float value = (float)number / (float)powers[behind];
        value = negative ? -value : value;
        uint32_t half;
        memcpy(&half, &value, width = sizeof(value));
        bits = half;
    }
    for (size_t i = 0; i < width; i++)
        to[i] = (char)(bits >> (8 * i));
    out->size += width;
    return TAKEN;
}

static inline Verdict put_text(Bytes *out, const Step *step, int64_t row) {
    const ArrowView *view = &step->view;
    if (view->kind == WIDE)
        return bytes_append(out, view->data + row * view->width, (size_t)view->width) < 0 ? NO_MEMORY : TAKEN;
    int32_t start = view->ends[row], end = view->ends[row + 1];
    size_t length = (size_t)(end - start), readable = (size_t)(view->ends[view->length] - start);
    if (step->encoding == SIZED && append_count(out, (int64_t)length) < 0)
        return NO_MEMORY;
    if (step->encoding >= LONG)
        return put_value(out, step->encoding, view->data + start, view->data + end);
    if (length == 0)
        return TAKEN;
    Encoding encoding = step->encoding == SIZED ? AS_IS : step->encoding;
    return escape(out, encoding, view->data + start, length, readable) < 0 ? NO_MEMORY : TAKEN;
}

/* Whether the value of a row is the text of a condition. */
static int is_text(const Step *step, int64_t row) {
    const ArrowView *view = &step->view;
    size_t length = (size_t)(view->ends[row + 1] - view->ends[row]);
    return !arrow_is_null(view, row) && length == step->lead.length &&
           memcmp(view->data + view->ends[row], step->lead.start, length) == 0;
}

static Verdict run(Step *steps, int64_t at, int64_t end, int64_t row, Bytes *out);

static Verdict run_each(Step *steps, int64_t at, int64_t row, Bytes *out) {
    const Step *step = &steps[at];
    if (arrow_is_null(&step->view, row))
        return ODD;
    int32_t count = step->view.ends[row + 1] - step->view.ends[row];
    if (step->encoding == SIZED && count > 0 && append_count(out, count) < 0)
        return NO_MEMORY;
    for (int32_t item = step->view.ends[row]; item < step->view.ends[row + 1]; item++) {
        if (item > step->view.ends[row] && append(out, &step->lead) < 0)
            return NO_MEMORY;
        Verdict verdict = run(steps, at + 1, step->to, item, out);
        if (verdict != TAKEN)
            return verdict;
    }
    return TAKEN;
}

/* The steps from one to before another, for one row. The depth is that of the plan, which is limited. */
static Verdict run(Step *steps, int64_t at, int64_t end, int64_t row, Bytes *out) {
    while (at < end) {
        Step *step = &steps[at++];
        Verdict verdict = TAKEN;
        switch (step->action) {
        case CONSTANT:
            if (append(out, &step->lead) < 0)
                return NO_MEMORY;
            break;
        case TEXT_OF:
        case NUMBER:
            if (arrow_is_null(&step->view, row)) {
                if (step->null.start == NULL)
                    return ODD;
                if (append(out, &step->null) < 0)
                    return NO_MEMORY;
                break;
            }
            if (step->lead.length && append(out, &step->lead) < 0)
                return NO_MEMORY;
            verdict = step->action == TEXT_OF ? put_text(out, step, row) : put_number(out, step, row);
            if (verdict == TAKEN && step->tail.length && append(out, &step->tail) < 0)
                return NO_MEMORY;
            break;
        case UNLESS:
            if (step->view.kind == TEXTS) {
                if (!is_text(step, row))
                    at = step->to;
                break;
            }
            if (arrow_is_null(&step->view, row))
                return ODD;
            if (!bit_at(step->view.bits, step->view.first + row))
                at = step->to;
            break;
        case JUMP:
            at = step->to;
            break;
        case OPEN:
            step->mark = out->size;
            break;
        case COMMA:
            if (out->size != steps[step->to].mark) {
                if (bytes_reserve(out, 1) < 0)
                    return NO_MEMORY;
                out->data[out->size++] = ',';
            }
            break;
        case REPEAT:
            verdict = run_each(steps, at - 1, row, out);
            at = step->to;
            break;
        }
        if (verdict != TAKEN)
            return verdict;
    }
    return TAKEN;
}

/* About how many bytes the messages will have. */
static size_t expected(const Plan *plan) {
    size_t bytes = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        const Step *step = &plan->steps[i];
        const ArrowView *view = &step->view;
        bytes += (step->lead.length + step->tail.length) * (size_t)plan->rows;
        if (step->action == TEXT_OF && view->kind != WIDE)
            bytes += (size_t)(view->ends[view->length] - view->ends[0]);
        else if (step->action == TEXT_OF || step->action == NUMBER)
            bytes += 8 * (size_t)plan->rows;
    }
    return (bytes < INT32_MAX ? bytes : INT32_MAX) + 256;
}

static PyObject *joined(Plan *plan) {
    Bytes out = {0}, ends = {0};
    size_t rows = (size_t)plan->rows;
    Verdict verdict = bytes_start(&out, expected(plan)) < 0 || bytes_start(&ends, (rows + 1) * sizeof(int32_t)) < 0 ? NO_MEMORY
                                                                                                                : TAKEN;
    int32_t *place = (int32_t *)(void *)ends.data;
    for (int64_t row = 0; verdict == TAKEN && row < plan->rows && out.size <= INT32_MAX; row++) {
        place[row] = (int32_t)out.size;
        verdict = run(plan->steps, 0, plan->count, row, &out);
    }
    if (verdict == TAKEN && out.size <= INT32_MAX) {
        place[rows] = (int32_t)out.size;
        ends.size = (rows + 1) * sizeof(int32_t);
        PyObject *offsets = bytes_take(&ends);
        return Py_BuildValue("(LNN)", (long long)plan->rows, offsets, bytes_take(&out));
    }
    if (verdict == NO_MEMORY)
        PyErr_NoMemory();
    else if (verdict == ODD)
        PyErr_SetString(PyExc_AssertionError, "a join lost rows: a piece is null");
    else
        PyErr_Format(PyExc_OverflowError, "messages of more than %d bytes", INT32_MAX);
    bytes_free(&out);
    bytes_free(&ends);
    return NULL;
}

PyObject *kernel_join(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *pieces, *kinds, *result = NULL;
    long long rows;
    if (!PyArg_ParseTuple(args, "OLO!", &pieces, &rows, &PyTuple_Type, &kinds))
        return NULL;
    if (PyTuple_Size(kinds) != KINDS)
        return refused("other kinds of pieces than the kernel knows");
    Plan plan = {.rows = rows, .scope = NO_SCOPE, .kinds = kinds};
    if (read_pieces(&plan, pieces, &plan.rows, 0) == 0) {
        if (plan.rows < 0)
            PyErr_SetString(PyExc_AssertionError, "a join of constants needs a number of rows");
        else
            result = joined(&plan);
    }
    for (int64_t i = 0; i < plan.count; i++)
        arrow_release(&plan.steps[i].view);
    free(plan.steps);
    memory_free(&plan.memory);
    return result;
}
