/* Tokens of DTS's records: what they have besides values, a time and a position. */
#include "dts_scan.h"

const char *dts_process(DtsScanner *s, const char *at, const char *end) {
    int branch;
    int64_t count, number;
    at = dts_branch(at, end, &branch);
    s->stamps = -1;
    if (at == NULL || branch > 1)
        return NULL;
    if (branch == 0)
        return at;
    s->stamps = 0;
    s->process.start = at;
    for (;;) {
        at = avro_count(at, end, MAX_STAMPS - s->stamps, &count);
        if (at == NULL)
            return NULL;
        if (count == 0)
            break;
        for (; count; count--, s->stamps++) {
            at = avro_long(at, end, &number);
            if (at == NULL)
                return NULL;
        }
    }
    s->process.length = (size_t)(at - s->process.start);
    return at;
}

const char *dts_tags(DtsScanner *s, const char *at, const char *end) {
    int64_t count;
    s->tags = 0;
    for (;;) {
        at = avro_count(at, end, MAX_TAGS - s->tags, &count);
        if (at == NULL)
            return NULL;
        if (count == 0)
            return at;
        for (; count; count--) {
            Slice *name = &s->tag_name[s->tags], *text = &s->tag_text[s->tags];
            at = avro_text(at, end, name);
            if (at == NULL || (at = avro_text(at, end, text)) == NULL)
                return NULL;
            for (int i = 0; i < s->tags; i++)
                if (slice_is(name, s->tag_name[i].start, s->tag_name[i].length))
                    return NULL;
            if (dts_is_word(s, name, W_KEYS))
                s->of.keys = *text;
            s->tags++;
        }
    }
}

static Verdict put_token(DtsScanner *s, const Slice *name, const char *text, size_t length, size_t readable) {
    Rows *rows = &s->base.table->rows;
    Verdict verdict = column_put(&rows->token_names, rows->token_names.rows, name->start, name->length, name->length, TEXT);
    return verdict != TAKEN ? verdict : column_put(&rows->token_texts, rows->token_texts.rows, text, length, readable, TEXT);
}

static Slice word(const DtsScanner *s, enum Word which) {
    return (Slice){s->words.all[which].text, s->words.all[which].length};
}

static Verdict put_member(DtsScanner *s, enum Word which, const Slice *text) {
    Slice name = word(s, which);
    return text->length ? put_token(s, &name, text->start, text->length, text->length) : TAKEN;
}

static Verdict put_number(DtsScanner *s, enum Word which, int64_t number) {
    char text[AVRO_TEXT];
    Slice made = {text, number ? integer_text(text, number) : 0};
    return put_member(s, which, &made);
}

static Verdict put_process(DtsScanner *s) {
    char text[MAX_STAMPS * 21 + 2];
    size_t length = 0;
    int64_t number;
    const char *at = s->process.start, *end = at + s->process.length;
    Slice made = {text, 0};
    if (s->stamps < 0)
        return TAKEN;
    text[length++] = '[';
    for (int left = s->stamps; left;) {
        int64_t count;
        at = avro_long(at, end, &count);
        for (; at != NULL && count && left; count--, left--) {
            at = avro_long(at, end, &number);
            if (at == NULL)
                return ODD;
            if (length > 1)
                text[length++] = ',';
            length += integer_text(text + length, number);
        }
        if (at == NULL)
            return ODD;
    }
    text[length++] = ']';
    made.length = length;
    return put_member(s, W_PROCESS, &made);
}

/* Whether a tag has a name that the exact reader would replace, since a token has it or may have it. */
static int clashes(const DtsScanner *s, const Slice *name) {
    for (enum Word which = W_SOURCE_TYPE; which <= W_SNAPSHOT; which++)
        if (dts_is_word(s, name, which))
            return 1;
    const Key *more = &s->words.all[W_MORE];
    return name->length >= more->length && memcmp(name->start, more->text, more->length) == 0;
}

Verdict dts_put_tokens(DtsScanner *s) {
    Slice source = {s->source_types.all[s->of.source].text, s->source_types.all[s->of.source].length};
    Verdict verdict = put_member(s, W_SOURCE_TYPE, &source);
    if (verdict == TAKEN)
        verdict = put_number(s, W_VERSION, s->version);
    if (verdict == TAKEN)
        verdict = put_number(s, W_ID, s->id);
    if (verdict == TAKEN)
        verdict = put_number(s, W_BORN, s->born_at);
    if (verdict == TAKEN)
        verdict = put_member(s, W_SAFE_POSITION, &s->safe_position);
    if (verdict == TAKEN)
        verdict = put_member(s, W_TRANSACTION, &s->transaction);
    if (verdict == TAKEN)
        verdict = put_member(s, W_SOURCE_VERSION, &s->source_version);
    if (verdict == TAKEN)
        verdict = put_process(s);
    for (int i = 0; i < s->tags && verdict == TAKEN; i++) {
        const Slice *name = &s->tag_name[i], *text = &s->tag_text[i];
        if (clashes(s, name))
            return ODD;
        if (!dts_is_word(s, name, W_KEYS))
            verdict = put_token(s, name, text->start, text->length, text->length);
    }
    if (verdict == TAKEN && s->ops[s->operation] == FIRST_LOAD) {
        Slice yes = word(s, W_TRUE);
        verdict = put_member(s, W_SNAPSHOT, &yes);
    }
    return verdict;
}
