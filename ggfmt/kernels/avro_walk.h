/* The walk over data in Avro, as a program says. The file that includes it has its own copy, made for what it does with
   values: it defines the type Sink and, each with a Sink and a Node as its first parameters, on_null, on_boolean, on_long,
   on_float, on_double, on_bytes (of FIXED too), on_string (with how many bytes are readable) and on_enum; on_item in front of an
   item of an array and of a field, on_key in front of a value of a map, each with the place in its container; on_close
   behind all of a container, with their number; and has_unique_names, for a map. */
#ifndef GGFMT_AVRO_WALK_H
#define GGFMT_AVRO_WALK_H

static Verdict walk(Sink *sink, const Node *node, const char **place, const char *end);

static Verdict walk_array(Sink *sink, const Node *node, const char **place, const char *end) {
    int64_t count, done = 0;
    for (;;) {
        const char *at = *place = avro_long(*place, end, &count);
        if (at == NULL || count < 0 || (uint64_t)count > (size_t)(end - at) / node->least)
            return ODD;
        if (count == 0)
            return on_close(sink, node, done);
        for (; count; count--, done++) {
            Verdict verdict = on_item(sink, node, done);
            if (verdict == TAKEN)
                verdict = walk(sink, &node->children[0], place, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
}

/* A map with a name twice is left to the exact reader if its names are to be unique. */
static Verdict walk_map(Sink *sink, const Node *node, const char **place, const char *end) {
    const int unique = has_unique_names(node);
    Slice names[AVRO_MAX_NAMES];
    int64_t count, done = 0;
    for (;;) {
        *place = avro_count(*place, end, unique ? AVRO_MAX_NAMES - done : INT64_MAX, &count);
        if (*place == NULL || count > end - *place)
            return ODD;
        if (count == 0)
            return on_close(sink, node, done);
        for (; count; count--, done++) {
            Slice name;
            *place = avro_text(*place, end, &name);
            if (*place == NULL)
                return ODD;
            for (int64_t i = 0; unique && i < done; i++)
                if (slice_is(&names[i], name.start, name.length))
                    return ODD;
            if (unique)
                names[done] = name;
            Verdict verdict = on_key(sink, node, done, name.start, name.length, (size_t)(end - name.start));
            if (verdict == TAKEN)
                verdict = walk(sink, &node->children[0], place, end);
            if (verdict != TAKEN)
                return verdict;
        }
    }
}

static Verdict walk_record(Sink *sink, const Node *node, const char **place, const char *end) {
    for (int i = 0; i < node->count; i++) {
        Verdict verdict = on_item(sink, node, i);
        if (verdict == TAKEN)
            verdict = walk(sink, &node->children[i], place, end);
        if (verdict != TAKEN)
            return verdict;
    }
    return on_close(sink, node, node->count);
}

/* A datum in bytes, which it takes up from the first to the last. */
static Verdict walk_enclosed(Sink *sink, const Node *node, const char *at, size_t length) {
    const char *end = at + length;
    Verdict verdict = walk(sink, node, &at, end);
    return verdict == TAKEN && at != end ? ODD : verdict;
}

/* One value from its start to behind it. */
static Verdict walk(Sink *sink, const Node *node, const char **place, const char *end) {
    const char *at = *place, *start;
    size_t length;
    int64_t number;
    double real;
    float single;
    switch ((enum AvroType)node->type) {
    case A_STRING:
        at = *place = avro_bytes(at, end, &start, &length);
        if (at == NULL || !avro_utf8(start, length))
            return ODD;
        return on_string(sink, node, start, length, (size_t)(end - start));
    case A_UNION:
        at = *place = avro_long(at, end, &number);
        if (at == NULL || number < 0 || number >= node->count)
            return ODD;
        return walk(sink, &node->children[number], place, end);
    case A_NULL:
        return on_null(sink, node);
    case A_RECORD:
        return walk_record(sink, node, place, end);
    case A_BOOLEAN:
        if (at >= end || (*at & ~1))
            return ODD;
        *place = at + 1;
        return on_boolean(sink, node, *at);
    case A_LONG:
        at = *place = avro_long(at, end, &number);
        return at == NULL ? ODD : on_long(sink, node, number);
    case A_DOUBLE:
        if (end - at < 8)
            return ODD;
        memcpy(&real, at, 8);
        *place = at + 8;
        return on_double(sink, node, real);
    case A_FLOAT:
        if (end - at < 4)
            return ODD;
        memcpy(&single, at, 4);
        *place = at + 4;
        return on_float(sink, node, single);
    case A_BYTES:
        at = *place = avro_bytes(at, end, &start, &length);
        if (at == NULL)
            return ODD;
        return node->count ? walk_enclosed(sink, &node->children[0], start, length) : on_bytes(sink, node, start, length);
    case A_FIXED:
        if (end - at < node->size)
            return ODD;
        *place = at + node->size;
        return on_bytes(sink, node, at, (size_t)node->size);
    case A_ENUM:
        at = *place = avro_long(at, end, &number);
        return at == NULL || number < 0 || number >= node->texts.count ? ODD : on_enum(sink, node, (int)number);
    case A_ARRAY:
        return walk_array(sink, node, place, end);
    case A_MAP:
        return walk_map(sink, node, place, end);
    }
    return ODD;
}

#endif
