/* Whole records: members, then the images that had to wait for an identity or a type, then a row for each operation. */
#include "json_scan.h"

#include <stdio.h>

static char token_letter(const Token *token, size_t place) {
    return place < token->prefix_length ? token->prefix[place] : token->name[place - token->prefix_length];
}

static int same_name(const Token *one, const Token *other) {
    size_t length = one->prefix_length + one->name_length;
    if (other->prefix_length + other->name_length != length)
        return 0;
    if (one->prefix == other->prefix)
        return one->name == other->name || memcmp(one->name, other->name, one->name_length) == 0;
    for (size_t i = 0; i < length; i++)
        if (token_letter(one, i) != token_letter(other, i))
            return 0;
    return 1;
}

/* Puts the tokens of the record in order; ODD if two of them have one name. */
static Verdict settle_tokens(JsonScanner *s) {
    for (int i = 1; i < s->token_count; i++)
        for (int j = 0; j < i; j++)
            if (same_name(&s->tokens[i], &s->tokens[j]))
                return ODD;
    if (s->named != NULL && s->named->token.data != NULL) {
        const OpName *op = s->named;
        Token own = {NULL, 0, op->token.data, op->token.length,
                     {op->token_text.data, op->token_text.data + op->token_text.length, TEXT, 0, 0}, op->rank};
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
static Verdict put_token(JsonTable *table, const Token *token) {
    Column *names = &table->base.rows.token_names;
    Verdict verdict = column_ready(names, names->rows, token->prefix_length + token->name_length + SLACK);
    if (verdict != TAKEN)
        return verdict;
    if (token->prefix_length) {
        memcpy(names->data.data + names->data.size, token->prefix, token->prefix_length);
        names->data.size += token->prefix_length;
    }
    memcpy(names->data.data + names->data.size, token->name, token->name_length);
    names->data.size += token->name_length;
    column_end(names, names->rows, TEXT);
    return put_span(&table->base.rows.token_texts, table->base.rows.token_texts.rows, &token->text, token->text.end);
}

/* Puts the tokens of the operation `index` of the `count` in the record. */
static Verdict put_tokens(const JsonScanner *s, JsonTable *table, int index, int count) {
    for (int i = 0; i < s->token_count; i++) {
        Verdict verdict = put_token(table, &s->tokens[i]);
        if (verdict != TAKEN)
            return verdict;
    }
    if (s->row_token.data == NULL || count == 1)
        return TAKEN;
    char digits[MAX_ROW_DIGITS + 1];
    int length = snprintf(digits, sizeof digits, "%d", index);
    Token own = {NULL, 0, s->row_token.data, s->row_token.length, {digits, digits + length, TEXT, 0, 0}, 0};
    return put_token(table, &own);
}

static Verdict put_row(JsonScanner *s, JsonTable *table, int index, int count, int image_bits, int64_t ordinal, const char *end) {
    int64_t row = s->base.row + index;
    for (int i = 0; i < s->slots; i++) {
        if (s->slot[i].kind == MISSING)
            continue;
        const char *readable = s->texts.size ? s->slot[i].end : end; /* it may be outside the record */
        Verdict verdict = put_span(&table->base.rows.slot[i], row, &s->slot[i], readable);
        if (verdict != TAKEN)
            return verdict;
    }
    Verdict verdict = put_tokens(s, table, index, count);
    return verdict == TAKEN ? rows_end(&table->base.rows, row, s->op, image_bits, ordinal) : verdict;
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
    Verdict verdict = json_object(s, &s->root, place, end);
    if (verdict != TAKEN)
        return verdict;
    if (!s->op)
        return ODD;
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
    const Identity *key = &s->identities[s->base.last];
    if (key->states.data != NULL && !key->masked) {
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
        verdict = put_row(s, (JsonTable *)s->base.table, i, count, has_before | has_after << 1, ordinal, end);
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
    s->texts.size = 0;
    s->named = NULL;
    s->token_count = 0;
    s->parts_met = s->old_count = s->new_count = s->old_done = s->new_done = 0;
    s->op = 0;
    s->whole = 0;
    s->pairs.size = 0;
    Verdict verdict = whole_record(s, place, end, ordinal);
    if (verdict == TAKEN && !is_utf8(start, *place))
        verdict = ODD;
    if (verdict == TAKEN && s->pairs.size)
        verdict = json_keep_pairs(s);
    if (verdict == ODD)
        verdict = find_unbound(s);
    if (base->in_span || verdict == NO_MEMORY)
        return verdict;
    return (verdict == TAKEN ? note(base, start) : note_end(base, start, end)) < 0 ? NO_MEMORY : verdict;
}
