/* Events of binary logs in bulk: transactions of plain events, as most logs of a server that serves many small ones have them.

   A plain transaction has an identifier or not, BEGIN, table maps and rows, and XID. Everything else is left to formats/binlog: the
   functions here stop in front of the transaction that has it. */
#include "binlog_rows.h"

/* As in events.py. */
enum Kind { QUERY = 2, XID = 16, TABLE_MAP = 19, WRITE_ROWS_V1 = 23, DELETE_ROWS_V1 = 25, ROWS_QUERY = 29, WRITE_ROWS = 30,
            DELETE_ROWS = 32, GTID = 33, ANONYMOUS_GTID = 34, GTID_TAGGED = 42, ANNOTATE_ROWS = 160, MARIADB_GTID = 162 };
enum { HEADER_BYTES = 19, CHECKSUM_BYTES = 4, TABLE_BYTES = 6, STATEMENT_END = 1, MAX_MAPS = 16, SLICES = 8 };

typedef struct {
    const unsigned char *data;
    size_t size;
    size_t limit;   /* of the bytes of an event */
    size_t trailer; /* the bytes of the checksum behind each event */
} Log;

typedef struct {
    const unsigned char *start;
    const unsigned char *end; /* of what it has itself, without a checksum */
    size_t next;              /* where the next one starts */
    int kind;
} Event;

typedef Verdict (*Visit)(void *context, const Log *log, const Event *event);

static uint32_t crc_tables[SLICES][256];

/* Before the first event: the tables of CRC32 (the polynomial of zlib), for eight bytes at a time. */
void binlog_start(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        crc_tables[0][byte] = crc;
    }
    for (int n = 1; n < SLICES; n++)
        for (int byte = 0; byte < 256; byte++) {
            const uint32_t crc = crc_tables[n - 1][byte];
            crc_tables[n][byte] = crc >> 8 ^ crc_tables[0][crc & 0xFF];
        }
}

static uint32_t crc32_of(const unsigned char *at, const unsigned char *end) {
    uint32_t crc = 0xFFFFFFFFu;
    for (; end - at >= SLICES; at += SLICES) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        word ^= crc;
        crc = 0;
        for (int n = 0; n < SLICES; n++)
            crc ^= crc_tables[SLICES - 1 - n][word >> 8 * n & 0xFF];
    }
    for (; at < end; at++)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

/* Finds the event at a place; 0 if there is none that is whole, or if another log may start there. */
static int event_at(const Log *log, size_t place, Event *event) {
    const size_t left = log->size - place;
    const unsigned char *start = log->data + place;
    if (left < HEADER_BYTES || memcmp(start, "\xfe" "bin", 4) == 0)
        return 0;
    const size_t size = (size_t)little(start + 9, 4);
    if (size < HEADER_BYTES + log->trailer || size > left || size > log->limit)
        return 0;
    *event = (Event){start, start + size - log->trailer, place + size, start[4]};
    return 1;
}

/* Returns the end of the plain transaction at a place, whose events `visit` takes; 0 if there is none, or none that it takes. */
static size_t transaction(const Log *log, size_t place, Visit visit, void *context, Verdict *verdict) {
    int is_named = 0, is_open = 0;
    *verdict = ODD;
    for (Event event; event_at(log, place, &event); place = event.next) {
        switch (event.kind) {
        case GTID:
        case ANONYMOUS_GTID:
        case GTID_TAGGED:
        case MARIADB_GTID:
            if (is_named || is_open)
                return 0;
            is_named = 1;
            if (event.kind == MARIADB_GTID) { /* BEGIN does not follow it */
                if (event.end - event.start <= HEADER_BYTES + 12)
                    return 0;
                is_open = 1;
            }
            break;
        case QUERY:
            if (is_open || memcmp(event.end - 6, "\0BEGIN", 6) != 0)
                return 0;
            is_open = 1;
            break;
        default: {
            const int is_v1 = event.kind >= WRITE_ROWS_V1 && event.kind <= DELETE_ROWS_V1;
            const int is_v2 = event.kind >= ROWS_QUERY && event.kind <= DELETE_ROWS;
            const int is_other = event.kind == XID || event.kind == TABLE_MAP || event.kind == ANNOTATE_ROWS;
            if (!is_open || !(is_v1 || is_v2 || is_other))
                return 0;
        }
        }
        *verdict = visit(context, log, &event);
        if (*verdict != TAKEN)
            return 0;
        if (event.kind == XID)
            return event.next;
        *verdict = ODD;
    }
    return 0;
}

static Verdict check(void *Py_UNUSED(context), const Log *log, const Event *event) {
    return !log->trailer || crc32_of(event->start, event->end) == (uint32_t)little(event->end, CHECKSUM_BYTES) ? TAKEN : ODD;
}

/* binlog_commits(data, place, end, limit, is_checked) -> the end of the plain transactions between two places that start at the first
   one, and whose checksums are right. `limit`: the most bytes of an event. */
PyObject *kernel_binlog_commits(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *data;
    Py_ssize_t size, place, end, limit;
    int is_checked;
    if (!PyArg_ParseTuple(args, "y#nnnp", &data, &size, &place, &end, &limit, &is_checked))
        return NULL;
    if (place < 0 || place > size || end < place || limit < 0)
        return refused("the place is not in the data");
    const Log log = {(const unsigned char *)data, (size_t)(end < size ? end : size), (size_t)limit, is_checked ? CHECKSUM_BYTES : 0};
    Verdict verdict;
    for (size_t next; (next = transaction(&log, (size_t)place, check, NULL, &verdict)) != 0;)
        place = (Py_ssize_t)next;
    return PyLong_FromSsize_t(place);
}

/* What makes records of events. `tables`: the writers of rows by table map, without the number of the table. */
typedef struct {
    PyObject *tables;
    Slice file; /* and a colon, as in a JSON string */
    uint64_t offset;
    uint64_t server;
    int writes_rows;
    size_t base; /* where the text starts in a longer one */
    Bytes id;    /* of the transaction, as a member of records */
    Bytes text;
    Bytes events; /* starts and ends (int64) of the events that are records */
    Bytes lines;  /* starts and ends (int64) of the records in the text */
    int count;
    struct {
        uint64_t number;
        BinlogRows *rows;
    } maps[MAX_MAPS]; /* of the statement */
    Slice latest;     /* the latest table map, and its writer */
    BinlogRows *rows;
} Records;

static Verdict put_string(Bytes *out, const char *text) {
    return put(out, text, strlen(text));
}

static Verdict put_position(const Records *self, Bytes *out, const Log *log, const Event *event) {
    if (put(out, self->file.start, self->file.length) != TAKEN)
        return NO_MEMORY;
    return put_number(out, self->offset + (uint64_t)(event->start - log->data), 0);
}

/* Writes `id`: the identifier that an event has, or else its position. */
static Verdict name_transaction(Records *self, const Log *log, const Event *event) {
    const unsigned char *body = event->start + HEADER_BYTES;
    Bytes *id = &self->id;
    Verdict verdict = put_string(id, event->kind == GTID || event->kind == MARIADB_GTID ? "\"gtid\":\"" : "\"transaction\":\"");
    if (verdict == TAKEN && event->kind == MARIADB_GTID) {
        const uint64_t numbers[] = {little(body + 8, 4), little(event->start + 5, 4), little(body, 8)};
        for (int n = 0; n < 3 && verdict == TAKEN; n++)
            if (n == 0 || (verdict = put_string(id, "-")) == TAKEN)
                verdict = put_number(id, numbers[n], 0);
    } else if (verdict == TAKEN && event->kind == GTID) {
        if (event->end - body < 25)
            return ODD;
        char text[40];
        size_t length = 0;
        for (int n = 0; n < 16; n++) {
            if (n == 4 || n == 6 || n == 8 || n == 10)
                text[length++] = '-';
            text[length++] = "0123456789abcdef"[body[1 + n] >> 4];
            text[length++] = "0123456789abcdef"[body[1 + n] & 15];
        }
        text[length++] = ':';
        verdict = put(id, text, length);
        if (verdict == TAKEN)
            verdict = put_number(id, little(body + 17, 8), 0);
    } else if (verdict == TAKEN) {
        verdict = put_position(self, id, log, event);
    }
    return verdict == TAKEN ? put_string(id, "\",") : verdict;
}

static Verdict take_map(Records *self, const Event *event) {
    const unsigned char *body = event->start + HEADER_BYTES;
    if (event->end - body < TABLE_BYTES)
        return ODD;
    const Slice map = {(const char *)body + TABLE_BYTES, (size_t)(event->end - body) - TABLE_BYTES};
    if (self->rows == NULL || !slice_is(&self->latest, map.start, map.length)) {
        PyObject *key = PyBytes_FromStringAndSize(map.start, (Py_ssize_t)map.length);
        if (key == NULL)
            return NO_MEMORY;
        PyObject *found = PyDict_GetItemWithError(self->tables, key);
        Py_DECREF(key);
        self->rows = found == NULL ? NULL : binlog_rows_of(found);
        self->latest = map;
        if (self->rows == NULL)
            return ODD;
    }
    const uint64_t number = little(body, TABLE_BYTES);
    int n = 0;
    while (n < self->count && self->maps[n].number != number)
        n++;
    if (n == MAX_MAPS)
        return ODD;
    self->maps[n].number = number;
    self->maps[n].rows = self->rows;
    self->count += n == self->count;
    return TAKEN;
}

/* Ends the record that starts at a place of the text. */
static Verdict end_record(Records *self, const Log *log, const Event *event, size_t start) {
    const int64_t line[] = {(int64_t)(self->base + start), (int64_t)(self->base + self->text.size)};
    const int64_t span[] = {event->start - log->data, (int64_t)event->next};
    const int failed = bytes_append(&self->lines, line, sizeof line) < 0 || bytes_append(&self->events, span, sizeof span) < 0;
    return failed ? NO_MEMORY : put(&self->text, "\n", 1);
}

static Verdict put_record(Records *self, const BinlogRows *rows, const Log *log, const Event *event, int op) {
    Bytes *out = &self->text;
    const Bytes *old = op == 1 ? &rows->out[0] : NULL, *data = &rows->out[op == 1];
    const size_t start = out->size;
    const char member[] = {'"', 'o', 'p', '"', ':', '"', "IUD"[op], '"', 0};
    const int failed =
        put(out, rows->head.start, rows->head.length) != TAKEN || put_string(out, member) != TAKEN ||
        put_string(out, ",\"ts\":") != TAKEN || put_number(out, little(event->start, 4), 0) != TAKEN ||
        put_string(out, ",\"position\":\"") != TAKEN || put_position(self, out, log, event) != TAKEN ||
        put_string(out, "\",") != TAKEN || put(out, self->id.data, self->id.size) != TAKEN ||
        put_string(out, "\"log_server\":") != TAKEN || put_number(out, self->server, 0) != TAKEN ||
        put_string(out, ",\"server_id\":") != TAKEN || put_number(out, little(event->start + 5, 4), 0) != TAKEN ||
        put_string(out, ",") != TAKEN ||
        (old != NULL && (put_string(out, "\"old\":[") != TAKEN || put(out, old->data, old->size) != TAKEN ||
                         put_string(out, "],") != TAKEN)) ||
        put_string(out, "\"data\":[") != TAKEN || put(out, data->data, data->size) != TAKEN || put_string(out, "]}") != TAKEN;
    return failed ? NO_MEMORY : end_record(self, log, event, start);
}

static Verdict take_rows(Records *self, const Log *log, const Event *event) {
    const unsigned char *at = event->start + HEADER_BYTES, *end = event->end;
    const int is_v2 = event->kind >= WRITE_ROWS, op = event->kind - (is_v2 ? WRITE_ROWS : WRITE_ROWS_V1), images = 1 + (op == 1);
    if (end - at < TABLE_BYTES + 4)
        return ODD;
    const uint64_t number = little(at, TABLE_BYTES), flags = little(at + TABLE_BYTES, 2);
    at += TABLE_BYTES + 2;
    if (is_v2) {
        const ptrdiff_t more = (ptrdiff_t)little(at, 2);
        if (more < 2 || end - at < more)
            return ODD;
        at += more;
    }
    BinlogRows *rows = NULL;
    for (int n = 0; n < self->count; n++)
        if (self->maps[n].number == number)
            rows = self->maps[n].rows;
    if (rows == NULL)
        return ODD;
    if (flags & STATEMENT_END)
        self->count = 0;
    const int width = at < end && *at == 252 ? 3 : 1, bytes = (rows->count + 7) / 8;
    if (end - at < width + images * bytes || *at > 252 || *at == 251 ||
        (width == 1 ? *at : little(at + 1, 2)) != (uint64_t)rows->count)
        return ODD;
    at += width;
    if (!self->writes_rows)
        return TAKEN;
    const Slice shown[IMAGES] = {{(const char *)at, (size_t)bytes}, {(const char *)at + bytes, (size_t)bytes}};
    for (int n = 0; n < rows->count && op == 0; n++)
        if (!(at[n >> 3] >> (n & 7) & 1))
            return ODD; /* values are lost */
    Py_ssize_t count;
    const Verdict verdict = binlog_rows_write(rows, at + images * bytes, end, shown, images, &count);
    if (verdict != TAKEN)
        return verdict;
    return count ? put_record(self, rows, log, event, op) : ODD;
}

static Verdict record(void *context, const Log *log, const Event *event) {
    Records *self = context;
    switch (event->kind) {
    case ROWS_QUERY:
    case ANNOTATE_ROWS:
        return TAKEN;
    case TABLE_MAP:
        return take_map(self, event);
    case XID: {
        const size_t start = self->text.size;
        if (!self->writes_rows)
            return TAKEN;
        return put_string(&self->text, "{\"op\":\"C\"}") == TAKEN ? end_record(self, log, event, start) : NO_MEMORY;
    }
    case QUERY:
        return self->id.size ? TAKEN : name_transaction(self, log, event);
    case GTID:
    case ANONYMOUS_GTID:
    case GTID_TAGGED:
    case MARIADB_GTID:
        return name_transaction(self, log, event);
    default:
        return take_rows(self, log, event);
    }
}

/* binlog_records(data, place, checksum_bytes, tables, file, offset, server, writes_rows, base, most) -> (place, text, events, lines)

   Writes the plain transactions at a place, as many as have about `most` bytes of text. Events must be whole, and have right
   checksums. */
PyObject *kernel_binlog_records(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *data;
    Py_ssize_t size, place, trailer, length, base, most;
    unsigned long long offset, server;
    Records self = {0};
    if (!PyArg_ParseTuple(args, "y#nnO!y#KKpnn", &data, &size, &place, &trailer, &PyDict_Type, &self.tables, &self.file.start,
                          &length, &offset, &server, &self.writes_rows, &base, &most))
        return NULL;
    if (place < 0 || place > size || trailer < 0 || trailer > CHECKSUM_BYTES)
        return refused("the place is not in the data");
    self.file.length = (size_t)length;
    self.offset = offset;
    self.server = server;
    self.base = (size_t)base;
    const Log log = {(const unsigned char *)data, (size_t)size, SIZE_MAX, (size_t)trailer};
    Verdict verdict = TAKEN;
    while (verdict == TAKEN && self.text.size <= (size_t)most) {
        const size_t sizes[] = {self.text.size, self.events.size, self.lines.size};
        self.id.size = 0;
        self.count = 0;
        const size_t end = transaction(&log, (size_t)place, record, &self, &verdict);
        if (end != 0) {
            place = (Py_ssize_t)end;
        } else {
            self.text.size = sizes[0];
            self.events.size = sizes[1];
            self.lines.size = sizes[2];
        }
    }
    PyObject *found = NULL;
    if (verdict == NO_MEMORY) {
        PyErr_NoMemory();
        bytes_free(&self.events);
        bytes_free(&self.lines);
    } else {
        found = Py_BuildValue("nNNN", place, PyBytes_FromStringAndSize(self.text.data, (Py_ssize_t)self.text.size),
                              bytes_take(&self.events), bytes_take(&self.lines));
    }
    bytes_free(&self.text);
    bytes_free(&self.id);
    return found;
}
