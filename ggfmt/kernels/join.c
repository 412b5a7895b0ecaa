/* Messages of n rows put together from pieces, in one pass, a row after the other.

   The pieces are those of ggfmt/columnar/pieces.py: constants, arrays, texts with an encoding, and what makes a tree of
   them. They become a list of steps, in which a condition is a jump, and the steps are gone through for each row. */
#include "arrow.h"
#include "escape.h"

#include <stdlib.h>

enum Action { CONSTANT, TEXT, NUMBER, UNLESS, JUMP, OPEN, COMMA, REPEAT };

enum { MAX_DEPTH = 32, NO_SCOPE = -1 };

typedef struct {
    size_t start; /* in the plan's texts */
    size_t length;
    const char *text; /* once all are there; SLACK bytes more can be read */
} Constant;

typedef struct {
    enum Action action;
    Encoding encoding;
    int has_null;
    int64_t to;      /* where UNLESS and JUMP go on, and where REPEAT ends; of COMMA the place of its OPEN */
    size_t mark;     /* of OPEN: how many bytes there were */
    Constant lead;   /* what CONSTANT writes, precedes a value, or divides the items of REPEAT */
    Constant tail;   /* follows a value */
    Constant null;   /* stands for a NULL */
    ArrowView view;
} Step;

typedef struct {
    Step *steps;
    int64_t count;
    int64_t room;
    int64_t rows;    /* -1 until an array shows it */
    int64_t scope;   /* the innermost OPEN */
    PyObject *kinds; /* the types Text, Conditional, CommaJoined, Repeated, Comma, Equals */
    Bytes texts;     /* all constants */
    int64_t fence;   /* a jump goes here: constants before it and behind it stay two */
} Plan;

enum { TEXT_KIND, CONDITIONAL_KIND, COMMA_JOINED_KIND, REPEATED_KIND, COMMA_KIND, EQUALS_KIND, KINDS };

/* The plan */

static Step *add(Plan *plan, enum Action action) {
    if (plan->count == plan->room) {
        int64_t room = plan->room ? plan->room * 2 : 64;
        Step *steps = realloc(plan->steps, (size_t)room * sizeof(Step));
        if (steps == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        plan->steps = steps;
        plan->room = room;
    }
    Step *step = &plan->steps[plan->count++];
    memset(step, 0, sizeof(*step));
    step->action = action;
    return step;
}

static int read_constant(Plan *plan, PyObject *object, Constant *constant) {
    const char *text;
    Py_ssize_t length;
    if (PyUnicode_Check(object)) {
        text = PyUnicode_AsUTF8AndSize(object, &length);
        if (text == NULL)
            return -1;
    } else if (PyBytes_Check(object)) {
        text = PyBytes_AsString(object);
        length = PyBytes_Size(object);
    } else {
        PyErr_Format(PyExc_TypeError, "a constant piece is text or bytes, not %R", Py_TYPE(object));
        return -1;
    }
    constant->start = plan->texts.size;
    constant->length = (size_t)length;
    if (bytes_append(&plan->texts, text, (size_t)length) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* A constant of its own, or more of the one before. */
static int add_constant(Plan *plan, PyObject *object) {
    Constant constant;
    if (read_constant(plan, object, &constant) < 0)
        return -1;
    Step *last = plan->count > plan->fence ? &plan->steps[plan->count - 1] : NULL;
    if (last != NULL && last->action == CONSTANT && last->lead.start + last->lead.length == constant.start) {
        last->lead.length += constant.length;
        return 0;
    }
    Step *step = add(plan, CONSTANT);
    if (step == NULL)
        return -1;
    step->lead = constant;
    return 0;
}

/* Where a jump goes: behind all steps there are. */
static void land(Plan *plan, int64_t jump) {
    plan->steps[jump].to = plan->fence = plan->count;
}

static int settle_constants(Plan *plan) {
    if (bytes_reserve(&plan->texts, SLACK) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    memset(plan->texts.data + plan->texts.size, 0, SLACK);
    for (int64_t i = 0; i < plan->count; i++) {
        Step *step = &plan->steps[i];
        step->lead.text = plan->texts.data + step->lead.start;
        step->tail.text = plan->texts.data + step->tail.start;
        step->null.text = plan->texts.data + step->null.start;
    }
    return 0;
}

/* The view of an array in a step, which has as many rows as all others. */
static int read_array(Step *step, PyObject *array, const char *kinds, int64_t *rows) {
    if (arrow_view(array, &step->view) < 0)
        return -1;
    if (strchr(kinds, (int)step->view.kind) == NULL) {
        PyErr_SetString(PyExc_TypeError, "an array of a kind that a piece cannot have");
        return -1;
    }
    if (*rows < 0)
        *rows = step->view.length;
    if (*rows != step->view.length) {
        PyErr_Format(PyExc_ValueError, "an array of %lld rows among others of %lld", (long long)step->view.length,
                     (long long)*rows);
        return -1;
    }
    return 0;
}

static int read_pieces(Plan *plan, PyObject *pieces, int64_t *rows, int depth);

static int read_text(Plan *plan, PyObject *piece, int64_t *rows) {
    if (PyTuple_Size(piece) != 5) {
        PyErr_SetString(PyExc_TypeError, "a Text of another shape");
        return -1;
    }
    Step *step = add(plan, TEXT);
    if (step == NULL)
        return -1;
    long encoding = PyLong_AsLong(PyTuple_GetItem(piece, 1));
    if (encoding < 0 || encoding >= ENCODINGS) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "an unknown encoding");
        return -1;
    }
    step->encoding = (Encoding)encoding;
    int of_numbers = (step->encoding >= DIGITS && step->encoding <= NANOS) || step->encoding == VARINT;
    if (of_numbers)
        step->action = NUMBER;
    if (read_array(step, PyTuple_GetItem(piece, 0), of_numbers ? "l" : "uzw", rows) < 0)
        return -1;
    if (step->view.kind == WIDE && step->encoding != AS_IS) {
        PyErr_SetString(PyExc_TypeError, "values of a fixed width stand as they are");
        return -1;
    }
    step->has_null = PyTuple_GetItem(piece, 2) != Py_None;
    if (step->has_null && read_constant(plan, PyTuple_GetItem(piece, 2), &step->null) < 0)
        return -1;
    if (read_constant(plan, PyTuple_GetItem(piece, 3), &step->lead) < 0)
        return -1;
    return read_constant(plan, PyTuple_GetItem(piece, 4), &step->tail);
}

static int read_condition(Plan *plan, PyObject *where, int64_t *rows) {
    Step *step = add(plan, UNLESS);
    if (step == NULL)
        return -1;
    if ((PyObject *)Py_TYPE(where) != PyTuple_GetItem(plan->kinds, EQUALS_KIND))
        return read_array(step, where, "b", rows);
    if (PyTuple_Size(where) != 2 || read_array(step, PyTuple_GetItem(where, 0), "u", rows) < 0)
        return -1;
    return read_constant(plan, PyTuple_GetItem(where, 1), &step->lead);
}

static int read_conditional(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    int64_t condition = plan->count;
    if (read_condition(plan, PyTuple_GetItem(piece, 0), rows) < 0 ||
        read_pieces(plan, PyTuple_GetItem(piece, 1), rows, depth) < 0)
        return -1;
    PyObject *otherwise = PyTuple_GetItem(piece, 2);
    Py_ssize_t others = PySequence_Size(otherwise);
    if (others < 0)
        return -1;
    if (others == 0) {
        land(plan, condition);
        return 0;
    }
    int64_t jump = plan->count;
    if (add(plan, JUMP) == NULL)
        return -1;
    land(plan, condition);
    if (read_pieces(plan, otherwise, rows, depth) < 0)
        return -1;
    land(plan, jump);
    return 0;
}

static int read_repeated(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    int64_t place = plan->count, items = -1, scope = plan->scope;
    Step *step = add(plan, REPEAT);
    if (step == NULL || read_array(step, PyTuple_GetItem(piece, 0), "+", rows) < 0 ||
        read_constant(plan, PyTuple_GetItem(piece, 2), &step->lead) < 0)
        return -1;
    step->encoding = PyTuple_GetItem(piece, 3) == Py_True ? SIZED : AS_IS;
    plan->scope = NO_SCOPE;
    if (read_pieces(plan, PyTuple_GetItem(piece, 1), &items, depth) < 0)
        return -1;
    plan->scope = scope;
    land(plan, place);
    step = &plan->steps[place];
    int32_t last = step->view.ends[step->view.length], first = step->view.ends[0];
    if (first < 0 || last < first || (items >= 0 && last > items)) {
        PyErr_SetString(PyExc_ValueError, "lists of other items than those of the pieces");
        return -1;
    }
    return 0;
}

static int read_piece(Plan *plan, PyObject *piece, int64_t *rows, int depth) {
    PyObject *kind = (PyObject *)Py_TYPE(piece);
    if (PyUnicode_Check(piece) || PyBytes_Check(piece))
        return add_constant(plan, piece);
    if (kind == PyTuple_GetItem(plan->kinds, TEXT_KIND))
        return read_text(plan, piece, rows);
    if (kind == PyTuple_GetItem(plan->kinds, CONDITIONAL_KIND))
        return PyTuple_Size(piece) == 3 ? read_conditional(plan, piece, rows, depth) : -1;
    if (kind == PyTuple_GetItem(plan->kinds, REPEATED_KIND))
        return PyTuple_Size(piece) == 4 ? read_repeated(plan, piece, rows, depth) : -1;
    if (kind == PyTuple_GetItem(plan->kinds, COMMA_JOINED_KIND)) {
        int64_t scope = plan->scope;
        plan->scope = plan->count;
        int read = PyTuple_Size(piece) != 1 || add(plan, OPEN) == NULL
                       ? -1
                       : read_pieces(plan, PyTuple_GetItem(piece, 0), rows, depth);
        plan->scope = scope;
        return read;
    }
    if (kind == PyTuple_GetItem(plan->kinds, COMMA_KIND)) {
        if (plan->scope == NO_SCOPE) {
            PyErr_SetString(PyExc_ValueError, "a comma without members");
            return -1;
        }
        Step *step = add(plan, COMMA);
        if (step == NULL)
            return -1;
        step->to = plan->scope;
        return 0;
    }
    if (PyObject_HasAttrString(piece, "as_py")) { /* a scalar is a constant */
        PyObject *value = PyObject_CallMethod(piece, "as_py", NULL);
        if (value == NULL)
            return -1;
        int added = add_constant(plan, value);
        Py_DECREF(value);
        return added;
    }
    Step *step = add(plan, TEXT);
    return step == NULL ? -1 : read_array(step, piece, "uzw", rows);
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
    if (read < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "a piece of another shape");
    return read;
}

static void plan_free(Plan *plan) {
    for (int64_t i = 0; i < plan->count; i++)
        arrow_release(&plan->steps[i].view);
    free(plan->steps);
    bytes_free(&plan->texts);
}

/* The messages */

typedef enum { DONE = 0, NO_ROOM = -1, NULL_MET = -2 } Outcome;

static inline int append(Bytes *out, const Constant *constant) {
    if (bytes_reserve(out, constant->length + SLACK) < 0)
        return -1;
    copy_short(out->data + out->size, constant->text, constant->length, SLACK);
    out->size += constant->length;
    return 0;
}

static char *put_varint(char *to, uint64_t number) {
    for (; number > 0x7f; number >>= 7)
        *to++ = (char)(number | 0x80);
    *to++ = (char)number;
    return to;
}

static char *put_digits(char *to, int64_t number) {
    char digits[20];
    size_t count = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        digits[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *to++ = '-';
    while (count)
        *to++ = digits[--count];
    return to;
}

static Outcome put_number(Bytes *out, const Step *step, int64_t row) {
    int64_t number;
    memcpy(&number, step->view.data + row * 8, 8);
    if (bytes_reserve(out, 32) < 0)
        return NO_ROOM;
    char *to = out->data + out->size;
    switch (step->encoding) {
    case MILLIS: /* those that have passed, before 1970 too */
        to = put_digits(to, number / 1000 - (number % 1000 < 0));
        break;
    case NANOS:
        to = put_digits(to, number);
        memcpy(to, "000", 3);
        to += number == 0 ? 0 : 3;
        break;
    case VARINT:
        to = put_varint(to, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
        break;
    default:
        to = put_digits(to, number);
    }
    out->size = (size_t)(to - out->data);
    return DONE;
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
static Outcome put_value(Bytes *out, Encoding encoding, const char *at, const char *end) {
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int negative, behind;
    if (bytes_reserve(out, 16) < 0)
        return NO_ROOM;
    char *to = out->data + out->size;
    if (encoding == BOOLEAN) {
        *to = at < end && *at == 't';
        out->size++;
        return DONE;
    }
    int64_t number = read_digits(at, end, &negative, &behind);
    if (encoding == LONG) {
        number = negative ? -number : number;
        out->size = (size_t)(put_varint(to, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63)) - out->data);
        return DONE;
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
    return DONE;
}

static inline Outcome put_text(Bytes *out, const Step *step, int64_t row) {
    const ArrowView *view = &step->view;
    if (view->kind == WIDE)
        return bytes_append(out, view->data + row * view->width, (size_t)view->width) < 0 ? NO_ROOM : DONE;
    int32_t start = view->ends[row], end = view->ends[row + 1];
    size_t length = (size_t)(end - start), readable = (size_t)(view->ends[view->length] - start);
    if (step->encoding == SIZED) {
        if (bytes_reserve(out, 16) < 0)
            return NO_ROOM;
        out->size = (size_t)(put_varint(out->data + out->size, (uint64_t)length << 1) - out->data);
    }
    if (step->encoding >= LONG)
        return put_value(out, step->encoding, view->data + start, view->data + end);
    if (length == 0)
        return DONE;
    return escape(out, step->encoding == SIZED ? AS_IS : step->encoding, view->data + start, length, readable) < 0 ? NO_ROOM
                                                                                                                  : DONE;
}

/* Whether the value of a row is the text of a condition. */
static int is_text(const Step *step, int64_t row) {
    const ArrowView *view = &step->view;
    size_t length = (size_t)(view->ends[row + 1] - view->ends[row]);
    return !arrow_is_null(view, row) && length == step->lead.length &&
           memcmp(view->data + view->ends[row], step->lead.text, length) == 0;
}

static Outcome run(Step *steps, int64_t at, int64_t end, int64_t row, Bytes *out);

static Outcome run_each(Step *steps, int64_t at, int64_t row, Bytes *out) {
    const Step *step = &steps[at];
    if (arrow_is_null(&step->view, row))
        return NULL_MET;
    int32_t count = step->view.ends[row + 1] - step->view.ends[row];
    if (step->encoding == SIZED && count > 0) {
        if (bytes_reserve(out, 16) < 0)
            return NO_ROOM;
        out->size = (size_t)(put_varint(out->data + out->size, (uint64_t)count << 1) - out->data);
    }
    for (int32_t item = step->view.ends[row]; item < step->view.ends[row + 1]; item++) {
        if (item > step->view.ends[row] && append(out, &step->lead) < 0)
            return NO_ROOM;
        Outcome outcome = run(steps, at + 1, step->to, item, out);
        if (outcome != DONE)
            return outcome;
    }
    return DONE;
}

/* The steps from one to before another, for one row. The depth is that of the plan, which is limited. */
static Outcome run(Step *steps, int64_t at, int64_t end, int64_t row, Bytes *out) {
    while (at < end) {
        Step *step = &steps[at++];
        Outcome outcome = DONE;
        switch (step->action) {
        case CONSTANT:
            if (append(out, &step->lead) < 0)
                return NO_ROOM;
            break;
        case TEXT:
        case NUMBER:
            if (arrow_is_null(&step->view, row)) {
                if (!step->has_null)
                    return NULL_MET;
                if (append(out, &step->null) < 0)
                    return NO_ROOM;
                break;
            }
            if (step->lead.length && append(out, &step->lead) < 0)
                return NO_ROOM;
            outcome = step->action == TEXT ? put_text(out, step, row) : put_number(out, step, row);
            if (outcome == DONE && step->tail.length && append(out, &step->tail) < 0)
                return NO_ROOM;
            break;
        case UNLESS:
            if (step->view.kind == TEXTS) {
                if (!is_text(step, row))
                    at = step->to;
                break;
            }
            if (arrow_is_null(&step->view, row))
                return NULL_MET;
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
                    return NO_ROOM;
                out->data[out->size++] = ',';
            }
            break;
        case REPEAT:
            outcome = run_each(steps, at - 1, row, out);
            at = step->to;
            break;
        }
        if (outcome != DONE)
            return outcome;
    }
    return DONE;
}

/* About how many bytes the messages will have. */
static size_t expected(const Plan *plan) {
    size_t bytes = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        const Step *step = &plan->steps[i];
        const ArrowView *view = &step->view;
        bytes += (step->lead.length + step->tail.length) * (size_t)plan->rows;
        if (step->action == TEXT && view->kind != WIDE)
            bytes += (size_t)(view->ends[view->length] - view->ends[0]);
        else if (step->action == TEXT || step->action == NUMBER)
            bytes += 8 * (size_t)plan->rows;
    }
    return (bytes < INT32_MAX ? bytes : INT32_MAX) + 256;
}

static PyObject *failed(Outcome outcome) {
    if (outcome == NULL_MET)
        PyErr_SetString(PyExc_AssertionError, "a join lost rows: a piece is null");
    else
        PyErr_NoMemory();
    return NULL;
}

static PyObject *joined(Plan *plan) {
    Bytes out = {0}, ends = {0};
    PyObject *result = NULL, *end_buffer = NULL, *data_buffer = NULL;
    Outcome outcome = DONE;
    size_t rows = (size_t)plan->rows;
    if (bytes_start(&out, expected(plan)) < 0 || bytes_start(&ends, (rows + 1) * sizeof(int32_t)) < 0) {
        outcome = NO_ROOM;
        goto end;
    }
    int32_t *place = (int32_t *)(void *)ends.data;
    place[0] = 0;
    for (int64_t row = 0; row < plan->rows; row++) {
        outcome = run(plan->steps, 0, plan->count, row, &out);
        if (outcome != DONE)
            goto end;
        if (out.size > INT32_MAX) {
            PyErr_Format(PyExc_OverflowError, "messages of more than %d bytes", INT32_MAX);
            goto end;
        }
        place[row + 1] = (int32_t)out.size;
    }
    ends.size = (rows + 1) * sizeof(int32_t);
    end_buffer = bytes_take(&ends);
    data_buffer = bytes_take(&out);
    if (end_buffer != NULL && data_buffer != NULL)
        result = Py_BuildValue("(LOO)", (long long)plan->rows, end_buffer, data_buffer);
end:
    Py_XDECREF(end_buffer);
    Py_XDECREF(data_buffer);
    bytes_free(&out);
    bytes_free(&ends);
    if (outcome != DONE)
        return failed(outcome);
    return result;
}

PyObject *kernel_join(PyObject *module, PyObject *args) {
    PyObject *pieces, *kinds, *result = NULL;
    long long rows;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLO!", &pieces, &rows, &PyTuple_Type, &kinds))
        return NULL;
    if (PyTuple_Size(kinds) != KINDS) {
        PyErr_SetString(PyExc_ValueError, "other kinds of pieces than the kernel knows");
        return NULL;
    }
    Plan plan = {.rows = rows, .scope = NO_SCOPE, .kinds = kinds};
    if (read_pieces(&plan, pieces, &plan.rows, 0) == 0 && settle_constants(&plan) == 0) {
        if (plan.rows < 0)
            PyErr_SetString(PyExc_AssertionError, "a join of constants needs a number of rows");
        else
            result = joined(&plan);
    }
    plan_free(&plan);
    return result;
}
