/* The members of a record. */
#include "json_scan.h"

static Node *child_named(const Node *node, int expected, const char *at, size_t length) {
    for (int i = 0; i < node->children_count; i++) {
        int place = expected + i < node->children_count ? expected + i : expected + i - node->children_count;
        Node *child = &node->children[place];
        if (own_text_is(&child->name, at, length))
            return child;
    }
    return NULL;
}

static Verdict take_op(JsonScanner *s, const Span *span) {
    size_t length = (size_t)(span->end - span->start);
    for (int i = 0; i < s->op_count; i++) {
        if (own_text_is(&s->ops[i].from, span->start, length)) {
            s->op = s->ops[i].letter;
            s->named = &s->ops[i];
            return TAKEN;
        }
    }
    return ODD;
}

/* Adds a token, unless its text is that of no token. */
static Verdict add_token(JsonScanner *s, const Node *node, const char *name, size_t length, const Span *text) {
    if (text->kind == IS_NULL)
        return TAKEN;
    if (node->unless.data != NULL) {
        if (text->escaped)
            return ODD;
        if (own_text_is(&node->unless, text->start, (size_t)(text->end - text->start)))
            return TAKEN;
    }
    if (s->token_count == MAX_TOKENS)
        return ODD;
    Token *token = &s->tokens[s->token_count++];
    *token = (Token){NULL, 0, name, length, *text, node->rank};
    if (node->action == ENTER) {
        token->prefix = node->token.data;
        token->prefix_length = node->token.length;
    }
    return TAKEN;
}

/* Takes an unknown member: a token, or, if the object has no prefix for tokens, nothing. */
static Verdict other_member(JsonScanner *s, const Node *node, const char *name, size_t length, int escaped, const char **place,
                            const char *end) {
    Span span;
    int kinds;
    if (escaped || memchr(name, ' ', length) != NULL) /* it may be a known name, broken over lines */
        return ODD;
    if (node->token.data == NULL)
        return (*place = json_value(*place, end)) == NULL ? ODD : TAKEN;
    *place = spanned(*place, end, &span, &kinds);
    return *place == NULL ? ODD : add_token(s, node, name, length, &span);
}

/* Takes an object of tokens, from its brace to behind it. */
static Verdict token_object(JsonScanner *s, const Node *node, const char **place, const char *end) {
    Span name, text;
    int kinds;
    const char *at = *place;
    if (at >= end || *at != '{')
        return ODD;
    at = json_space(at + 1, end);
    if (at < end && *at == '}') {
        *place = at + 1;
        return TAKEN;
    }
    for (;;) {
        if (at >= end || *at != '"')
            return ODD;
        at = spanned(at, end, &name, &kinds);
        if (at == NULL || name.escaped)
            return ODD;
        at = json_space(at, end);
        if (at >= end || *at != ':')
            return ODD;
        at = spanned(json_space(at + 1, end), end, &text, &kinds);
        if (at == NULL || !(kinds & node->takes))
            return ODD;
        Verdict verdict = add_token(s, node, name.start, (size_t)(name.end - name.start), &text);
        if (verdict != TAKEN)
            return verdict;
        at = json_space(at, end);
        if (at >= end || (*at != ',' && *at != '}'))
            return ODD;
        if (*at == '}') {
            *place = at + 1;
            return TAKEN;
        }
        at = json_space(at + 1, end);
    }
}

static int is_null(const char *at, const char *end) {
    return at < end && *at == 'n';
}

/* Takes an image, if its table and role are known already; otherwise notes its span for the end of the record. */
static Verdict image_member(JsonScanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    int old = node->action == BEFORE || node->action == OLD || (node->action == ROW && s->op == 'D');
    if (node->action == OLD && s->op && s->op != 'U') {
        *place = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    int now = s->parts_met == s->identity_parts && (s->op || (!s->row_only && node->action != ROW && node->action != OLD));
    Span *span = now || node->action == BEFORE || node->action == AFTER ? (old ? &s->before : &s->after)
                 : node->action == ROW                                  ? &s->row_image
                                                                        : &s->old_image;
    if (is_null(at, end)) {
        if (span->start == NULL)
            *span = (Span){at, at, IS_NULL, 0, 0};
        *place = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    if (span->kind == LITERAL) /* of two members with one role, one must be null */
        return ODD;
    span->start = at;
    span->kind = LITERAL;
    if (now) {
        Verdict verdict = json_find_table(s);
        if (verdict != TAKEN)
            return verdict;
        verdict = json_images(s, old, place, end, old ? &s->old_count : &s->new_count);
        *(old ? &s->old_done : &s->new_done) = 1;
        return verdict;
    }
    if (at >= end || (*at != '{' && *at != '['))
        return ODD;
    span->end = *place = json_bracketed(at, end);
    return *place == NULL ? ODD : TAKEN;
}

/* Takes a part of the identity. Its end is found by brackets alone: the part only counts if it is equal to one in a record
   that the exact reader took. */
static const char *identity_part(JsonScanner *s, int place, const char *at, const char *end) {
    const char *behind = json_known_part(s, place, at, end);
    if (behind != NULL)
        s->known |= (uint64_t)1 << place;
    else if (at < end && (*at == '{' || *at == '['))
        behind = json_bracketed(at, end);
    else
        behind = json_value(at, end);
    if (behind == NULL)
        return NULL;
    s->part[place] = (Span){.start = at, .end = behind};
    s->parts_met++;
    return behind;
}

/* Takes the names in an object as a part of the identity. */
static Verdict names_part(JsonScanner *s, const Node *node, const char **place, const char *end) {
    Span *part = &s->part[node->place];
    const char *at = *place;
    int escaped;
    if (is_null(at, end)) {
        *place = json_value(at, end);
        if (*place == NULL)
            return ODD;
        *part = (Span){.start = at, .end = *place};
        s->parts_met++;
        return TAKEN;
    }
    if (at >= end || *at != '{')
        return ODD;
    s->names.size = 0;
    for (at = json_space(at + 1, end); at < end && *at == '"';) {
        const char *close = json_string(at + 1, end, &escaped);
        if (close == NULL)
            return ODD;
        if (bytes_append(&s->names, at, (size_t)(close + 1 - at)) < 0)
            return NO_MEMORY;
        at = json_space(close + 1, end);
        if (at >= end || *at != ':' || (at = json_value(json_space(at + 1, end), end)) == NULL)
            return ODD;
        at = json_space(at, end);
        if (at < end && *at == '}') {
            *part = (Span){.start = s->names.data, .end = s->names.data + s->names.size};
            s->parts_met++;
            *place = at + 1;
            return TAKEN;
        }
        if (at >= end || *at != ',')
            return ODD;
        at = json_space(at + 1, end);
    }
    return ODD; /* no names, or no object */
}

/* Reads an object with a `name` and a `value`, from its brace to behind it. */
static const char *named_value(const char *at, const char *end, Span *name, Span *value) {
    int kinds;
    name->start = value->start = NULL;
    if (at >= end || *at != '{')
        return NULL;
    for (at = json_space(at + 1, end);;) {
        Span member;
        at = spanned(at, end, &member, &kinds);
        if (at == NULL || kinds != STRINGS || member.escaped)
            return NULL;
        size_t length = (size_t)(member.end - member.start);
        Span *part = length == 4 && memcmp(member.start, "name", 4) == 0    ? name
                     : length == 5 && memcmp(member.start, "value", 5) == 0 ? value
                                                                            : NULL;
        at = json_space(at, end);
        if (part == NULL || part->start != NULL || at >= end || *at != ':')
            return NULL;
        at = spanned(json_space(at + 1, end), end, part, &kinds);
        if (at == NULL || (part == name && (kinds != STRINGS || name->escaped)))
            return NULL;
        at = json_space(at, end);
        if (at < end && *at == '}')
            return name->start != NULL && value->start != NULL ? at + 1 : NULL;
        if (at >= end || *at != ',')
            return NULL;
        at = json_space(at + 1, end);
    }
}

/* Takes a list of tokens, from its bracket to behind it. */
static Verdict token_list(JsonScanner *s, const Node *node, const char **place, const char *end) {
    Span name, value;
    const char *at = *place;
    if (at >= end || *at != '[')
        return ODD;
    at = json_space(at + 1, end);
    if (at < end && *at == ']') {
        *place = at + 1;
        return TAKEN;
    }
    for (;;) {
        at = named_value(at, end, &name, &value);
        if (at == NULL)
            return ODD;
        size_t length = (size_t)(name.end - name.start);
        if (own_text_is(&node->same, name.start, length)) {
            if (s->slot[node->place].kind != MISSING)
                return ODD;
            s->slot[node->place] = value;
        } else if (node->token.data != NULL) {
            Verdict verdict = add_token(s, node, name.start, length, &value);
            if (verdict != TAKEN)
                return verdict;
        } else if (value.escaped && json_value(value.start - 1, end) == NULL) {
            return ODD;
        }
        at = json_space(at, end);
        if (at >= end || (*at != ',' && *at != ']'))
            return ODD;
        if (*at == ']') {
            *place = at + 1;
            return TAKEN;
        }
        at = json_space(at + 1, end);
    }
}

/* Takes a value as a slot, a token, both or nothing. */
static Verdict plain_member(JsonScanner *s, const Node *node, const char **place, const char *end) {
    Span span;
    int kinds = 0;
    const char *at = spanned(*place, end, &span, &kinds);
    if (at == NULL)
        return ODD;
    int is_stamp = !(kinds & node->takes);
    if (is_stamp && (!(node->takes & STAMP) || kinds != STRINGS))
        return ODD;
    if (node->token.data != NULL) {
        Verdict verdict = add_token(s, node, node->token.data, node->token.length, &span);
        if (verdict != TAKEN)
            return verdict;
    }
    span.is_stamp = (uint8_t)is_stamp;
    if (node->place >= 0)
        s->slot[node->place] = span;
    else if (span.escaped && json_value(span.start - 1, end) == NULL) /* check its escapes */
        return ODD;
    *place = at;
    return TAKEN;
}

/* Takes an object in a string, from the quote of the string to behind it. */
static Verdict object_in_text(JsonScanner *s, Node *node, const char **place, const char *end) {
    Span text;
    int kinds;
    const char *behind = spanned(*place, end, &text, &kinds);
    if (behind == NULL || kinds != STRINGS)
        return ODD;
    const char *at = text.start, *stop = text.end;
    if (text.escaped) {
        size_t start = s->texts.size, needed = (size_t)(stop - at) + SLACK;
        if (start == 0 && bytes_reserve(&s->texts, (size_t)(end - at) + 2 * SLACK) < 0)
            return NO_MEMORY;
        if (s->texts.capacity - start < needed) /* strings in strings */
            return ODD;
        Verdict verdict = json_unescape(&s->texts, at, stop);
        if (verdict != TAKEN)
            return verdict;
        at = s->texts.data + start;
        stop = s->texts.data + s->texts.size;
    }
    at = json_space(at, stop);
    Verdict verdict = json_object(s, node, &at, stop);
    if (verdict != TAKEN)
        return verdict;
    *place = behind;
    return json_space(at, stop) == stop ? TAKEN : ODD;
}

static Verdict member(JsonScanner *s, Node *node, const char **place, const char *end) {
    const char *at = *place;
    int kinds = 0;
    Span span;
    switch (node->action) {
    case SKIP:
    case SLOT:
        return plain_member(s, node, place, end);
    case ENTER:
        if (!node->required && is_null(at, end)) {
            at = json_value(at, end);
            break;
        }
        return node->in_text ? object_in_text(s, node, place, end) : json_object(s, node, place, end);
    case IDENTITY:
        at = identity_part(s, node->place, at, end);
        if (at != NULL && node->token.data != NULL) {
            if (spanned(*place, end, &span, &kinds) != at)
                return ODD;
            Verdict verdict = add_token(s, node, node->token.data, node->token.length, &span);
            if (verdict != TAKEN)
                return verdict;
        }
        break;
    case NOTE:
        s->slot[node->place] = (Span){at, at, LITERAL, 0, 0};
        at = json_value(at, end);
        break;
    case OP:
        at = spanned(at, end, &span, &kinds);
        if (at == NULL || kinds != STRINGS || take_op(s, &span) != TAKEN)
            return ODD;
        break;
    case TOKENS:
        if (!is_null(at, end))
            return token_object(s, node, place, end);
        at = json_value(at, end);
        break;
    case NAMES:
        return names_part(s, node, place, end);
    case LIST:
        if (!is_null(at, end))
            return token_list(s, node, place, end);
        at = json_value(at, end);
        break;
    case BEFORE:
    case AFTER:
    case ROW:
    case OLD:
        return image_member(s, node, place, end);
    case SAME:
        if ((size_t)(end - at) < node->same.length || memcmp(at, node->same.data, node->same.length) != 0)
            return ODD;
        at = json_value(at, end);
        if (at != NULL && (size_t)(at - *place) != node->same.length)
            return ODD;
        break;
    }
    *place = at;
    return at == NULL ? ODD : TAKEN;
}

Verdict json_object(JsonScanner *s, Node *node, const char **place, const char *end) {
    const char *at = *place;
    uint64_t seen = 0;
    int columns = 0;
    int expected = node->first, *followed = &node->first; /* expect the members in the order of the last record */
    if (at >= end || *at != '{')
        return ODD;
    at = json_space(at + 1, end);
    while (at >= end || *at != '}') {
        if (at >= end || *at != '"')
            return ODD;
        int escaped;
        const char *close = json_string(++at, end, &escaped);
        if (close == NULL)
            return ODD;
        const char *name = at;
        Node *child = child_named(node, expected, at, (size_t)(close - at));
        if (child == NULL && node->takes == NOTHING)
            return ODD;
        at = json_space(close + 1, end);
        if (at >= end || *at != ':')
            return ODD;
        at = json_space(at + 1, end);
        Verdict verdict;
        if (child == NULL && node->takes == COLUMNS) {
            columns = 1;
            verdict = escaped ? ODD : json_column(s, name, (size_t)(close - name), &at, end);
        } else if (child == NULL) {
            verdict = other_member(s, node, name, (size_t)(close - name), escaped, &at, end);
        } else {
            int number = (int)(child - node->children);
            if (seen & (uint64_t)1 << number)
                return ODD;
            if (node->takes == COLUMNS && (columns || seen >> number)) /* order decides what is a column */
                return ODD;
            seen |= (uint64_t)1 << number;
            *followed = number;
            followed = &child->next;
            expected = child->next;
            verdict = member(s, child, &at, end);
        }
        if (verdict != TAKEN)
            return verdict;
        at = json_space(at, end);
        if (at >= end)
            return ODD;
        if (*at == '}')
            break;
        if (*at != ',')
            return ODD;
        at = json_space(at + 1, end);
        if (at < end && *at == '}')
            return ODD;
    }
    for (int i = 0; i < node->children_count; i++)
        if (node->children[i].required && !(seen & (uint64_t)1 << i))
            return ODD;
    *place = at + 1;
    return TAKEN;
}
