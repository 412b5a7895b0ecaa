/* The members of a record. */
#include "json_scan.h"

static Node *child_named(const Node *node, int expected, const char *at, size_t length) {
    for (int i = 0; i < node->children_count; i++) {
        int place = expected + i < node->children_count ? expected + i : expected + i - node->children_count;
        Node *child = &node->children[place];
        if (slice_is(&child->name, at, length))
            return child;
    }
    return NULL;
}

static Verdict take_op(JsonScanner *s, const Span *span) {
    size_t length = (size_t)(span->end - span->start);
    for (int i = 0; i < s->op_count; i++) {
        if (slice_is(&s->ops[i].from, span->start, length)) {
            s->op = s->ops[i].letter;
            s->named = &s->ops[i];
            return TAKEN;
        }
    }
    return ODD;
}

/* Adds a token, unless its text is that of no token. */
static Verdict add_token(JsonScanner *s, const Node *node, Slice name, const Span *text) {
    if (text->kind == IS_NULL)
        return TAKEN;
    if (node->unless.start != NULL) {
        if (text->escaped)
            return ODD;
        if (slice_is(&node->unless, text->start, (size_t)(text->end - text->start)))
            return TAKEN;
    }
    if (s->token_count == MAX_TOKENS)
        return ODD;
    Token *token = &s->tokens[s->token_count++];
    *token = (Token){{0}, name, *text, node->rank};
    if (node->action == ENTER)
        token->prefix = node->token;
    return TAKEN;
}

/* Takes an unknown member: a token, or, if the object has no prefix for tokens, nothing. */
static Verdict other_member(JsonScanner *s, const Node *node, Slice name, int escaped, const char **place, const char *end) {
    Span span;
    int kinds;
    if (escaped || memchr(name.start, ' ', name.length) != NULL) /* it may be a known name, broken over lines */
        return ODD;
    if (node->token.start == NULL)
        return (*place = json_value(*place, end)) == NULL ? ODD : TAKEN;
    *place = spanned(*place, end, &span, &kinds);
    return *place == NULL ? ODD : add_token(s, node, name, &span);
}

/* Takes an object of tokens, from its brace to behind it. */
static Verdict token_object(JsonScanner *s, const Node *node, const char **place, const char *end) {
    const char *at;
    int more, escaped, kinds;
    for (at = json_first(*place, end, '{', &more); at != NULL && more; at = json_next(at, end, '{', &more)) {
        Slice name;
        Span text;
        at = json_name(at, end, &name, &escaped);
        if (at == NULL || escaped || (at = spanned(at, end, &text, &kinds)) == NULL || !(kinds & node->takes))
            return ODD;
        Verdict verdict = add_token(s, node, name, &text);
        if (verdict != TAKEN)
            return verdict;
    }
    *place = at;
    return at == NULL ? ODD : TAKEN;
}

static int is_null(const char *at, const char *end) {
    return at < end && *at == 'n';
}

/* Takes an image, if its table and role are known already; otherwise notes its span for the end of the record. */
static Verdict image_member(JsonScanner *s, const Node *node, const char **place, const char *end) {
    const char *at = *place;
    int old = node->action == BEFORE || node->action == OLD || (node->action == ROW && s->op == 'D');
    if (!is_null(at, end) && (at >= end || *at != (s->listed ? '[' : '{')))
        return ODD;
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
        span->end = *place;
        *(old ? &s->old_done : &s->new_done) = 1;
        return verdict;
    }
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

/* Takes the names in an object as a part of the identity; null is one too. */
static Verdict names_part(JsonScanner *s, const Node *node, const char **place, const char *end) {
    Span *part = &s->part[node->place];
    const char *at = *place;
    int escaped, more;
    if (is_null(at, end)) {
        *place = json_value(at, end);
        *part = (Span){.start = at, .end = *place};
        s->parts_met++;
        return *place == NULL ? ODD : TAKEN;
    }
    s->names.size = 0;
    for (at = json_first(at, end, '{', &more); at != NULL && more; at = json_next(at, end, '{', &more)) {
        Slice name;
        at = json_name(at, end, &name, &escaped);
        if (at == NULL || (at = json_value(at, end)) == NULL)
            return ODD;
        if (bytes_append(&s->names, name.start - 1, name.length + 2) < 0) /* with its quotes */
            return NO_MEMORY;
    }
    if (at == NULL || s->names.size == 0)
        return ODD;
    *part = (Span){.start = s->names.data, .end = s->names.data + s->names.size};
    *place = at;
    s->parts_met++;
    return TAKEN;
}

/* Takes the names and types of cells as a part of the identity, and notes their span as that of an image. */
static Verdict cells_member(JsonScanner *s, const Node *node, const char **place, const char *end) {
    int old = node->action == BEFORE_CELLS, more, rest, escaped;
    Span *image = old ? &s->before : &s->after;
    Bytes *names = &s->cell_names[old];
    const char *at = *place;
    names->size = 0;
    *image = (Span){at, at, LITERAL, 0, 0};
    for (at = json_first(at, end, '[', &more); at != NULL && more; at = json_next(at, end, '[', &more)) {
        int named = 0, typed = 0;
        for (at = json_first(at, end, '{', &rest); at != NULL && rest; at = json_next(at, end, '{', &rest)) {
            Slice member;
            const char *value = json_name(at, end, &member, &escaped);
            if (value == NULL || escaped || (at = json_value(value, end)) == NULL)
                return ODD;
            int is_name = slice_is(&member, "name", 4), is_type = slice_is(&member, "type", 4);
            if (is_name == named || (is_type && typed) || memchr(member.start, ' ', member.length) != NULL)
                return ODD; /* the name comes first, and once */
            named = 1;
            typed |= is_type;
            if ((is_name || is_type) && bytes_append(names, value, (size_t)(at - value)) < 0)
                return NO_MEMORY;
        }
        if (at == NULL)
            return ODD;
        if (bytes_append(names, ",", 1) < 0)
            return NO_MEMORY;
    }
    if (at == NULL || names->size == 0)
        return ODD;
    image->end = *place = at;
    s->part[node->place] = (Span){.start = names->data, .end = names->data + names->size};
    s->parts_met++;
    return TAKEN;
}

/* Reads an object with a `name` and a `value`, from its brace to behind it. */
static const char *named_value(const char *at, const char *end, Span *name, Span *value) {
    int kinds, more, escaped;
    name->start = value->start = NULL;
    for (at = json_first(at, end, '{', &more); at != NULL && more; at = json_next(at, end, '{', &more)) {
        Slice member;
        if ((at = json_name(at, end, &member, &escaped)) == NULL)
            return NULL;
        Span *part = slice_is(&member, "name", 4) ? name : slice_is(&member, "value", 5) ? value : NULL;
        if (part == NULL || part->start != NULL || (at = spanned(at, end, part, &kinds)) == NULL)
            return NULL;
        if (part == name && (kinds != STRINGS || name->escaped))
            return NULL;
    }
    return name->start != NULL && value->start != NULL ? at : NULL;
}

/* Takes a list of tokens, from its bracket to behind it. */
static Verdict token_list(JsonScanner *s, const Node *node, const char **place, const char *end) {
    Span name, value;
    const char *at;
    int more;
    for (at = json_first(*place, end, '[', &more); at != NULL && more; at = json_next(at, end, '[', &more)) {
        at = named_value(at, end, &name, &value);
        if (at == NULL)
            return ODD;
        const Slice text = {name.start, (size_t)(name.end - name.start)};
        if (slice_is(&node->same, text.start, text.length)) {
            if (s->slot[node->place].kind != MISSING ||
                (value.kind == LITERAL && (*value.start == '{' || *value.start == '[')))
                return ODD;
            s->slot[node->place] = value;
        } else if (node->token.start != NULL) {
            Verdict verdict = add_token(s, node, text, &value);
            if (verdict != TAKEN)
                return verdict;
        } else if (value.escaped && json_value(value.start - 1, end) == NULL) {
            return ODD;
        }
    }
    *place = at;
    return at == NULL ? ODD : TAKEN;
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
    if (node->token.start != NULL) {
        Verdict verdict = add_token(s, node, node->token, &span);
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
        size_t start = s->base.text.size, needed = (size_t)(stop - at) + SLACK;
        if (start == 0 && bytes_reserve(&s->base.text, (size_t)(end - at) + 2 * SLACK) < 0)
            return NO_MEMORY;
        if (s->base.text.capacity - start < needed) /* strings in strings */
            return ODD;
        Verdict verdict = json_unescape(&s->base.text, at, stop);
        if (verdict != TAKEN)
            return verdict;
        at = s->base.text.data + start;
        stop = s->base.text.data + s->base.text.size;
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
    if (is_null(at, end) && (node->action == TOKENS || node->action == LIST || (node->action == ENTER && !node->required))) {
        *place = json_value(at, end);
        return *place == NULL ? ODD : TAKEN;
    }
    switch (node->action) {
    case SKIP:
    case SLOT:
        return plain_member(s, node, place, end);
    case ENTER:
        return node->in_text ? object_in_text(s, node, place, end) : json_object(s, node, place, end);
    case IDENTITY:
        at = identity_part(s, node->place, at, end);
        if (at != NULL && node->token.start != NULL &&
            (spanned(*place, end, &span, &kinds) != at || add_token(s, node, node->token, &span) != TAKEN))
            return ODD;
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
        return token_object(s, node, place, end);
    case NAMES:
        return names_part(s, node, place, end);
    case LIST:
        return token_list(s, node, place, end);
    case BEFORE_CELLS:
    case AFTER_CELLS:
        return cells_member(s, node, place, end);
    case BEFORE:
    case AFTER:
    case ROW:
    case OLD:
        return image_member(s, node, place, end);
    case SAME:
        if ((size_t)(end - at) < node->same.length || memcmp(at, node->same.start, node->same.length) != 0)
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
    const char *at;
    uint64_t seen = 0;
    int more, escaped, columns = 0;
    int expected = node->first, *followed = &node->first; /* expect the members in the order of the last record */
    for (at = json_first(*place, end, '{', &more); at != NULL && more; at = json_next(at, end, '{', &more)) {
        Slice name;
        at = json_name(at, end, &name, &escaped);
        if (at == NULL)
            return ODD;
        Node *child = child_named(node, expected, name.start, name.length);
        Verdict verdict;
        if (child != NULL) {
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
        } else if (node->takes == COLUMNS) {
            columns = 1;
            verdict = escaped ? ODD : json_column(s, name, &at, end);
        } else {
            verdict = node->takes == NOTHING ? ODD : other_member(s, node, name, escaped, &at, end);
        }
        if (verdict != TAKEN)
            return verdict;
    }
    for (int i = 0; i < node->children_count; i++)
        if (node->children[i].required && !(seen & (uint64_t)1 << i))
            return ODD;
    *place = at;
    return at == NULL ? ODD : TAKEN;
}
