/* Whole records: members, then the images that had to wait for an identity or a type, then a row for each operation. */
#include "json_scan.h"

#include <stdio.h>

/* Whether two tokens have one name, wherever their prefixes end. */
static int same_name(const Token *one, const Token *other) {
    if (one->prefix.length < other->prefix.length)
        return same_name(other, one);
    const size_t shorter = other->prefix.length, rest = one->prefix.length - shorter;
    return one->prefix.length + one->name.length == shorter + other->name.length &&
           (shorter == 0 || memcmp(one->prefix.start, other->prefix.start, shorter) == 0) &&
           (rest == 0 || memcmp(one->prefix.start + shorter, other->name.start, rest) == 0) &&
           (one->name.length == 0 || memcmp(one->name.start, other->name.start + rest, one->name.length) == 0);
}

/* Puts the tokens of the record in order; ODD if two of them have one name. */
static Verdict settle_tokens(JsonScanner *s) {
    for (int i = 1; i < s->token_count; i++)
        for (int j = 0; j < i; j++)
            if (same_name(&s->tokens[i], &s->tokens[j]))
                return ODD;
    if (s->named != NULL && s->named->token.start != NULL) {
        const OpName *op = s->named;
        const char *text = op->token_text.start;
        Token own = {{0}, op->token, {text, text + op->token_text.length, TEXT, 0, 0}, op->rank};
        int there = 0;
        for (int i = 0; i < s->token_count; i++)
            there |= same_name(&own, &s->tokens[i]);
        if (!there) {
            if (s->token_count == MAX_TOKENS)
                return ODD;
            s->tokens[s->token_count++] = own;
        }
    }
    for (int i = 1; i < s->token_count; i++) {
        Token token = s->tokens[i];
        int place = i;
        for (; place > 0 && s->tokens[place - 1].rank > token.rank; place--)
            s->tokens[place] = s->tokens[place - 1];
        s->tokens[place] = token;
    }
    return TAKEN;
}

/* Puts a token in a row behind the tokens of all rows. Its text may be outside the record, so that nothing beyond its
   end is read. */
static Verdict put_token(Rows *rows, const Token *token) {
    Column *names = &rows->token_names;
    Verdict verdict = column_ready(names, names->rows, token->prefix.length + token->name.length);
    if (verdict != TAKEN)
        return verdict;
    if (bytes_append(&names->data, token->prefix.start, token->prefix.length) < 0 ||
        bytes_append(&names->data, token->name.start, token->name.length) < 0)
        return NO_MEMORY;
    column_end(names, names->rows, TEXT);
    return put_span(&rows->token_texts, rows->token_texts.rows, &token->text, token->text.end);
}

/* Puts the tokens of the operation `index` of the `count` in the record. */
static Verdict put_tokens(const JsonScanner *s, Rows *rows, int index, int count) {
    for (int i = 0; i < s->token_count; i++) {
        Verdict verdict = put_token(rows, &s->tokens[i]);
        if (verdict != TAKEN)
            return verdict;
    }
    if (s->row_token.start == NULL || count == 1)
        return TAKEN;
    char digits[MAX_ROW_DIGITS + 1];
    int length = snprintf(digits, sizeof digits, "%d", index);
    return rows_token(rows, s->row_token, digits, (size_t)length, sizeof digits);
}

static Verdict put_row(JsonScanner *s, int index, int count, int image_bits, int64_t ordinal, const char *end) {
    Rows *rows = &s->base.table->rows;
    int64_t row = s->base.row + index;
    for (int i = 0; i < s->slots; i++) {
        if (s->slot[i].kind == MISSING)
            continue;
        const char *readable = s->base.text.size ? s->slot[i].end : end; /* it may be outside the record */
        Verdict verdict = put_span(&rows->slot[i], row, &s->slot[i], readable);
        if (verdict != TAKEN)
            return verdict;
    }
    Verdict verdict = put_tokens(s, rows, index, count);
    return verdict == TAKEN ? rows_end(rows, row, s->op, image_bits, ordinal) : verdict;
}

/* Gives a role to the images whose role depends on the operation type. ODD if two that are not null have one role. */
static Verdict settle_images(JsonScanner *s, const char *end) {
    if (s->row_image.start != NULL) {
        Span *role = s->op == 'D' ? &s->before : &s->after;
        if (role->kind == LITERAL && s->row_image.kind == LITERAL)
            return ODD;
        if (role->kind != LITERAL)
            *role = s->row_image;
    }
    if (s->old_image.start != NULL) {
        if (s->op != 'U')
            return s->old_image.kind == IS_NULL || json_value(s->old_image.start, end) != NULL ? TAKEN : ODD;
        if (s->before.start != NULL)
            return ODD;
        s->before = s->old_image;
    }
    return TAKEN;
}

static Verdict whole_record(JsonScanner *s, const char **place, const char *end, int64_t ordinal) {
    const char *record = *place;
    Verdict verdict = json_object(s, &s->root, place, end);
    if (verdict != TAKEN)
        return verdict;
    if (!s->op) { /* a record that is only counted has no images, and nothing else checks the escapes in its texts */
        int is_bare = s->named != NULL && s->before.start == NULL && s->after.start == NULL && s->row_image.start == NULL;
        return is_bare && json_value(record, end) == *place ? TAKEN : ODD;
    }
    s->whole = 1;
    verdict = json_find_table(s);
    if (verdict == TAKEN)
        verdict = settle_images(s, end);
    if (verdict == TAKEN)
        verdict = settle_tokens(s);
    if (verdict != TAKEN)
        return verdict;
    for (int old = 0; old <= 1; old++) {
        Span *span = old ? &s->before : &s->after;
        if (span->kind != LITERAL || (old ? s->old_done : s->new_done))
            continue;
        const char *start = span->start;
        verdict = json_images(s, old, &start, span->end, old ? &s->old_count : &s->new_count);
        if (verdict != TAKEN)
            return verdict;
        if (start != span->end)
            return ODD;
    }
    if (s->purpose != ROWS)
        return TAKEN;
    int has_before = s->before.kind == LITERAL, has_after = s->after.kind == LITERAL;
    const Identity *key = json_identity(s);
    if (key->states.start != NULL && !key->masked) {
        if ((key->valued[1] && !has_before) || (key->valued[0] && !has_after))
            return ODD;
        has_before = key->valued[1] > 0;
        has_after = key->valued[0] > 0;
    }
    if (image_rules_break(&s->rules, s->op, has_before, has_after))
        return ODD;
    if (has_before && has_after && s->old_count != s->new_count)
        return ODD;
    int is_empty = s->before.kind == LITERAL && s->before.end - s->before.start == 2;
    if (s->row_only && has_before && s->op == 'U' && is_empty)
        return ODD; /* the batch has no columns that would show that the image is empty */
    int count = has_after ? s->new_count : has_before ? s->old_count : 1;
    for (int i = 0; i < count; i++) {
        verdict = put_row(s, i, count, has_before | has_after << 1, ordinal, end);
        if (verdict != TAKEN)
            return verdict;
    }
    return TAKEN;
}

/* Checks whether an odd record has an identity without a table, if all parts of its identity are known. */
static Verdict find_unbound(JsonScanner *s) {
    Scanner *base = &s->base;
    base->is_unbound = 0;
    Verdict verdict = base->table == NULL && (s->whole || s->parts_met == s->identity_parts) ? json_find_table(s) : ODD;
    base->is_unbound &= base->identity.size > 0;
    return verdict == NO_MEMORY ? NO_MEMORY : ODD;
}

static int note(Scanner *base, const char *at) {
    int64_t place = at - base->data;
    return bytes_append(&base->notes, &place, sizeof place);
}

/* Notes where an odd record ends: behind its JSON value, or, if it is none, behind its line. */
static int note_end(Scanner *base, const char *start, const char *end) {
    const char *stop = json_value(start, end);
    if (stop == NULL)
        stop = memchr(start, '\n', (size_t)(end - start));
    return note(base, stop == NULL ? end : stop);
}

Verdict json_record(Scanner *base, const char **place, const char *end, int64_t ordinal) {
    JsonScanner *s = (JsonScanner *)base;
    const char *start = *place;
    memset(s->slot, 0, (size_t)s->slots * sizeof(Span));
    memset(s->part, 0, (size_t)s->identity_parts * sizeof(Span));
    s->before = s->after = s->row_image = s->old_image = (Span){0};
    s->known = 0;
    base->text.size = 0;
    s->named = NULL;
    s->token_count = 0;
    s->parts_met = s->old_count = s->new_count = s->old_done = s->new_done = 0;
    s->op = 0;
    s->whole = 0;
    s->pairs.size = 0;
    Verdict verdict = whole_record(s, place, end, ordinal);
    if (verdict == TAKEN && !is_utf8(start, *place))
        verdict = ODD;
    if (verdict == TAKEN && !s->op) {
        if (base->in_span && json_space(*place, end) != end)
            verdict = ODD;
        else
            s->ops[s->named - s->ops].count++;
    }
    if (verdict == TAKEN && s->pairs.size)
        verdict = json_keep_pairs(s);
    if (verdict == ODD)
        verdict = find_unbound(s);
    if (base->in_span || (base->routes && verdict == TAKEN) || verdict == NO_MEMORY)
        return verdict;
    return (verdict == TAKEN ? note(base, start) : note_end(base, start, end)) < 0 ? NO_MEMORY : verdict;
}
