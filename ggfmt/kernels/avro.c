#include "avro.h"

#include <math.h>

/* The digits of a number in front of `end`; where they start. */
static char *digits_before(char *end, uint64_t value) {
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

static inline uint64_t magnitude_of(int64_t value) {
    return value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value;
}

size_t integer_text(char *text, int64_t value) {
    char room[24], *end = room + sizeof room;
    char *start = digits_before(end, magnitude_of(value));
    if (value < 0)
        *--start = '-';
    memcpy(text, start, (size_t)(end - start));
    return (size_t)(end - start);
}

static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

/* A number that a few digits make up exactly. Decimals of up to 15 digits are all different doubles, so that one that
   is this number is the shortest that is; the division of two whole numbers that a double holds is rounded once. */
static size_t short_double(char *text, double value) {
    double size = fabs(value);
    for (int places = 0; places < (int)(sizeof powers / sizeof *powers); places++) {
        double scaled = size * powers[places];
        if (!(scaled < 1e15))
            return 0;
        int64_t whole = (int64_t)(scaled + 0.5);
        if ((double)whole / powers[places] != size)
            continue;
        char room[32], *end = room + sizeof room, *start = end;
        if (places == 0) {
            *--start = '0';
            *--start = '.';
            start = digits_before(start, (uint64_t)whole);
        } else {
            for (int i = 0; i < places; i++, whole /= 10)
                *--start = (char)('0' + whole % 10);
            *--start = '.';
            start = digits_before(start, (uint64_t)whole);
        }
        if (signbit(value))
            *--start = '-';
        memcpy(text, start, (size_t)(end - start));
        return (size_t)(end - start);
    }
    return 0;
}

size_t float_text(char *text, float value) {
    static const double most = 1e6;
    double size = fabs((double)value);
    if (value != 0 && !(size >= 1e-3 && size < most))
        return 0;
    /* Decimals of up to 6 digits are all different floats. None of them is so near to the middle of two floats that the
       division's rounding to a double could move it over that. */
    for (int places = 0; places < 7; places++) {
        double scaled = size * powers[places];
        if (!(scaled < most - 1))
            return 0;
        double whole = floor(scaled + 0.5);
        if ((float)(whole / powers[places]) == (float)size)
            return double_text(text, copysign(whole / powers[places], (double)value));
    }
    return 0;
}

size_t double_text(char *text, double value) {
    size_t length = 0;
    if (value == 0 || (fabs(value) >= 1e-3 && fabs(value) < 1e15)) /* beyond, Python may show an exponent */
        length = short_double(text, value);
    if (length)
        return length;
    char *made = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (made == NULL) {
        PyErr_Clear();
        return 0;
    }
    length = strlen(made);
    if (length <= AVRO_TEXT)
        memcpy(text, made, length);
    else
        length = 0;
    PyMem_Free(made);
    return length;
}

/* The bytes of a number, the highest first, as its magnitude in limbs, the lowest first; how many there are. */
static int limbs_of(uint32_t *limbs, const char *bytes, size_t length, int negative) {
    int count = 0;
    uint32_t carry = (uint32_t)negative;
    for (size_t place = 0; place < length; place += 4) {
        uint32_t limb = 0;
        for (size_t i = 0; i < 4; i++) {
            uint32_t byte = negative ? 0xff : 0;
            if (place + i < length)
                byte = (unsigned char)bytes[length - 1 - place - i];
            limb |= byte << (8 * i);
        }
        if (negative) {
            limb = ~limb + carry;
            carry = carry && limb == 0;
        }
        limbs[count++] = limb;
    }
    if (carry) /* the negative number of these bytes that is farthest from 0 */
        limbs[count++] = 1;
    while (count && limbs[count - 1] == 0)
        count--;
    return count;
}

size_t decimal_text(char *text, const char *bytes, size_t length, int scale) {
    char room[AVRO_TEXT], *end = room + sizeof room, *start = end;
    if (length > AVRO_DECIMAL_BYTES || scale < 0 || scale > AVRO_SCALE)
        return 0;
    int negative = length && (bytes[0] & 0x80);
    uint32_t limbs[AVRO_DECIMAL_BYTES / 4 + 1];
    int count = limbs_of(limbs, bytes, length, negative);
    while (count > 2) {
        uint64_t rest = 0;
        for (int i = count - 1; i >= 0; i--) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / 1000000000);
            rest %= 1000000000;
        }
        for (int i = 0; i < 9; i++, rest /= 10)
            *--start = (char)('0' + rest % 10);
        while (count && limbs[count - 1] == 0)
            count--;
    }
    uint64_t last = count == 2 ? (uint64_t)limbs[1] << 32 | limbs[0] : count == 1 ? limbs[0] : 0;
    if (last || start == end)
        start = digits_before(start, last);
    while (start < end && *start == '0')
        start++;
    while (end - start < scale + 1)
        *--start = '0';
    size_t whole = (size_t)(end - start) - (size_t)scale, at = 0;
    if (negative)
        text[at++] = '-';
    memcpy(text + at, start, whole);
    at += whole;
    if (scale) {
        text[at++] = '.';
        memcpy(text + at, start + whole, (size_t)scale);
        at += (size_t)scale;
    }
    return at;
}

size_t micros_text(char *text, int64_t micros) {
    const int64_t day = 86400000000;
    if (micros < -62135596800000000 || micros > 253402300799999999)
        return 0;
    int64_t days = micros / day, rest = micros % day;
    if (rest < 0) {
        rest += day;
        days--;
    }
    /* Days since 1970 as a date, by eras of 400 years that start in March (Howard Hinnant, "chrono-Compatible Low-Level
       Date Algorithms", civil_from_days). */
    days += 719468;
    int64_t era = days / 146097, of_era = days % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    int64_t date = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    memcpy(text, TIME_TEXT, 26);
    digits_text(text, 4, year);
    digits_text(text + 5, 2, month);
    digits_text(text + 8, 2, date);
    digits_text(text + 11, 2, rest / 3600000000);
    digits_text(text + 14, 2, rest / 60000000 % 60);
    digits_text(text + 17, 2, rest / 1000000 % 60);
    digits_text(text + 20, 6, rest % 1000000);
    return 26;
}

size_t base64_text(char *text, const char *bytes, size_t length) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = text;
    const unsigned char *from = (const unsigned char *)bytes;
    for (; length >= 3; length -= 3, from += 3, to += 4) {
        unsigned three = (unsigned)from[0] << 16 | (unsigned)from[1] << 8 | from[2];
        to[0] = letters[three >> 18];
        to[1] = letters[three >> 12 & 63];
        to[2] = letters[three >> 6 & 63];
        to[3] = letters[three & 63];
    }
    if (length) {
        unsigned three = (unsigned)from[0] << 16 | (length > 1 ? (unsigned)from[1] << 8 : 0);
        to[0] = letters[three >> 18];
        to[1] = letters[three >> 12 & 63];
        to[2] = length > 1 ? letters[three >> 6 & 63] : '=';
        to[3] = '=';
        to += 4;
    }
    return (size_t)(to - text);
}

Verdict put_base64(Column *column, int64_t row, const char *bytes, size_t length) {
    if (length > INT32_MAX / 2)
        return ODD;
    Verdict verdict = column_ready(column, row, base64_size(length));
    if (verdict != TAKEN)
        return verdict;
    column->data.size += base64_text(column->data.data + column->data.size, bytes, length);
    column_end(column, row, TEXT);
    return TAKEN;
}
