/* Looks at all values of an array: whether they are of a form, how many hold a text, how many are one. */
#include "arrow.h"
#include "json.h"
#include "search.h"

/* As ggfmt/columnar/strings.py has them. */
enum Form { JSON_NUMBER, JSON_BOOLEAN, XML_TEXT, SHORT_INTEGER, SHORT_FLOAT, SHORT_DOUBLE, FORMS };

static int is_number(const char *at, const char *end) {
    int integer;
    return json_number(at, end, &integer) == end;
}

static int is_boolean(const char *at, const char *end) {
    return (end - at == 4 && memcmp(at, "true", 4) == 0) || (end - at == 5 && memcmp(at, "false", 5) == 0);
}

/* Whether there is no character that XML 1.0 lacks, of UTF-8: control characters, U+FFFE and U+FFFF (EF BF BE, EF BF BF). */
static int is_xml(const char *at, const char *end) {
    for (; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return 0;
        if (c == 0xef && end - at > 2 && (unsigned char)at[1] == 0xbf && (unsigned char)at[2] >= 0xbe)
            return 0;
    }
    return 1;
}

/* Digits, of which there are at most `most`, and perhaps a point among them: so few that number and power of ten are exact. */
static int is_short(const char *at, const char *end, ptrdiff_t most, int with_point) {
    const char *start = at + (at < end && *at == '-'), *point = NULL;
    for (at = start; at < end; at++)
        if (*at == '.' && with_point && at > start && point == NULL)
            point = at;
        else if (*at < '0' || *at > '9')
            return 0;
    return at > start && point != end - 1 && end - start - (point != NULL) <= most;
}

static int is_short_integer(const char *at, const char *end) {
    const char *first = at + (at < end && *at == '-');
    return is_short(at, end, 18, 0) && (*first != '0' || end - first == 1);
}

static int is_short_float(const char *at, const char *end) {
    return is_short(at, end, 7, 1); /* below 2 to the 24th */
}

static int is_short_double(const char *at, const char *end) {
    return is_short(at, end, 15, 1); /* below 2 to the 53rd */
}

typedef int (*Test)(const char *, const char *);
static const Test tests[FORMS] = {is_number, is_boolean, is_xml, is_short_integer, is_short_float, is_short_double};

PyObject *kernel_fits(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *array;
    int form, fit = 1;
    ArrowView view;
    if (!PyArg_ParseTuple(args, "Oi", &array, &form))
        return NULL;
    if (form < 0 || form >= FORMS)
        return refused("an unknown form");
    if (arrow_view(array, "u", &view) < 0)
        return NULL;
    if (form == XML_TEXT && view.valid == NULL && view.length)  /* all of it at once */
        fit = is_xml(view.data + view.ends[0], view.data + view.ends[view.length]);
    else
        for (int64_t row = 0; fit && row < view.length; row++)
            if (!arrow_is_null(&view, row))
                fit = tests[form](view.data + view.ends[row], view.data + view.ends[row + 1]);
    arrow_release(&view);
    return PyBool_FromLong(fit);
}

/* The digits before and after the point of a number without an exponent; 0 for other texts. */
static int count_digits(const char *at, const char *end, ptrdiff_t *whole, ptrdiff_t *fraction) {
    const char *start, *point;
    at += at < end && *at == '-';
    for (; end - at > 1 && *at == '0' && at[1] != '.'; at++)
        ;
    for (start = at; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    for (point = at, at += at < end && *at == '.'; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    *whole = point - start;
    *fraction = point < end ? end - point - 1 : 0;
    return at == end && point > start && (point == end || *fraction > 0);
}

PyObject *kernel_digits(PyObject *Py_UNUSED(module), PyObject *array) {
    ArrowView view;
    ptrdiff_t whole, fraction, most_whole = 0, most_fraction = 0, others = 0;
    if (arrow_view(array, "u", &view) < 0)
        return NULL;
    for (int64_t row = 0; row < view.length; row++) {
        if (arrow_is_null(&view, row))
            continue;
        if (count_digits(view.data + view.ends[row], view.data + view.ends[row + 1], &whole, &fraction)) {
            most_whole = whole > most_whole ? whole : most_whole;
            most_fraction = fraction > most_fraction ? fraction : most_fraction;
        } else {
            others++;
        }
    }
    arrow_release(&view);
    return Py_BuildValue("(nnn)", most_whole, most_fraction, others);
}

static int same_value(const ArrowView *one, int64_t row, const ArrowView *other, int64_t at) {
    int null = arrow_is_null(one, row);
    if (null || arrow_is_null(other, at))
        return null && arrow_is_null(other, at);
    size_t length = (size_t)(one->ends[row + 1] - one->ends[row]);
    return (size_t)(other->ends[at + 1] - other->ends[at]) == length &&
           memcmp(one->data + one->ends[row], other->data + other->ends[at], length) == 0;
}

/* Whether all numbers are rows of an array. */
static int are_rows(const ArrowView *numbers, const ArrowView *of) {
    const int64_t *rows = (const int64_t *)numbers->data;
    for (int64_t place = 0; place < numbers->length; place++)
        if (rows[place] < 0 || rows[place] >= of->length || arrow_is_null(numbers, place))
            return 0;
    return 1;
}

/* Of two arrays of texts, or of some rows of each. NULL equals NULL alone. */
PyObject *kernel_differ(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *first, *second, *first_rows = NULL, *second_rows = NULL, *result = NULL;
    ArrowView one = {0}, rows = {0}, other = {0}, others = {0};
    Bytes differs = {0};
    if (!PyArg_ParseTuple(args, "OO|OO", &first, &second, &first_rows, &second_rows))
        return NULL;
    int chosen = second_rows != NULL;
    if (arrow_view(first, "u", &one) == 0 && arrow_view(second, "u", &other) == 0 &&
        (!chosen || (arrow_view(first_rows, "l", &rows) == 0 && arrow_view(second_rows, "l", &others) == 0))) {
        int64_t length = chosen ? rows.length : one.length;
        const int64_t *own = (const int64_t *)rows.data, *at = (const int64_t *)others.data;
        if ((chosen ? others.length : other.length) != length ||
            (chosen && (!are_rows(&rows, &one) || !are_rows(&others, &other)))) {
            PyErr_SetString(PyExc_TypeError, "no two arrays of texts with as many rows");
        } else if (bytes_start(&differs, (size_t)length + 1) < 0) {
            PyErr_NoMemory();
        } else {
            for (int64_t place = 0; place < length; place++)
                differs.data[place] =
                    !same_value(&one, chosen ? own[place] : place, &other, chosen ? at[place] : place);
            result = bits_take(differs.data, length, length, 1, 1);
        }
    }
    bytes_free(&differs);
    arrow_release(&one);
    arrow_release(&rows);
    arrow_release(&other);
    arrow_release(&others);
    return result;
}

/* How many values hold a text that is not empty. */
static long long holding(const ArrowView *view, const char *text, size_t length) {
    const char *end = view->data + view->ends[view->length], *at = view->data + view->ends[0];
    long long count = 0;
    int64_t row = 0;
    while ((at = search(at, end, text, length)) != NULL) {
        while (view->data + view->ends[row + 1] <= at)
            row++;
        const char *behind = view->data + view->ends[row + 1];
        if (at + length <= behind && !arrow_is_null(view, row)) {
            count++;
            at = behind;
        } else {
            at++;
        }
    }
    return count;
}

static long long equal_to(const ArrowView *view, const char *text, size_t length) {
    long long count = 0;
    for (int64_t row = 0; row < view->length; row++) {
        int32_t start = view->ends[row];
        if ((size_t)(view->ends[row + 1] - start) == length && !arrow_is_null(view, row) &&
            (length == 0 || memcmp(view->data + start, text, length) == 0))
            count++;
    }
    return count;
}

PyObject *kernel_count(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *array, *parts, *wholes;
    ArrowView view;
    if (!PyArg_ParseTuple(args, "OO!O!", &array, &PyTuple_Type, &parts, &PyTuple_Type, &wholes) ||
        arrow_view(array, "u", &view) < 0)
        return NULL;
    Py_ssize_t held = PyTuple_Size(parts), all = held + PyTuple_Size(wholes);
    PyObject *result = PyTuple_New(all);
    for (Py_ssize_t i = 0; result != NULL && i < all; i++) {
        Py_ssize_t size;
        const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(i < held ? parts : wholes, i < held ? i : i - held), &size);
        const size_t length = (size_t)size;
        put_item(&result, i, text == NULL  ? NULL
                             : i >= held   ? PyLong_FromLongLong(equal_to(&view, text, length))
                             : length == 0 ? PyLong_FromLong(0)
                                           : PyLong_FromLongLong(holding(&view, text, length)));
    }
    arrow_release(&view);
    return result;
}
