/** Tags of a request: a request has at most one value for each name, and these are the bounds of both. */
export const maxTags = 16
export const maxNameLength = 64
export const maxValueLength = 128

/** Shared by all requests without tags. */
export const noTags: readonly string[] = []

/** What a name and a value must be, for messages. */
export const nameRule = `must have 1 to ${maxNameLength} of a-z, 0-9, "_", "." and "-"`
export const valueRule = `must have 1 to ${maxValueLength} characters, none of them a control character`

const namePattern = /^[a-z0-9_.-]{1,64}$/
const controlCharacter = /\p{Cc}/u

export function isTagName(name: string): boolean {
  return namePattern.test(name)
}

export function isTagValue(value: string): boolean {
  return (
    value !== '' && value.length <= maxValueLength && !controlCharacter.test(value) && value.isWellFormed()
  )
}

/** The tags of a record. */
export function splitTags(stored: string | null): string[] {
  return stored === null ? [] : stored.split('\n')
}

/** The value that stored tags have for a name. */
export function findTagValue(stored: string | null, name: string): string | null {
  for (const tag of splitTags(stored))
    if (tag.startsWith(name) && tag[name.length] === '=') return tag.slice(name.length + 1)
  return null
}

/** A tag as clients write it. */
export interface Tag {
  name: string
  value: string
}

/** Splits `name=value`. A tag without a value has the value `true`. */
export function splitTag(text: string, separator: string | RegExp = '='): Tag {
  const at = typeof separator === 'string' ? text.indexOf(separator) : text.search(separator)
  const name = (at < 0 ? text : text.slice(0, at)).trim().toLowerCase()
  return { name, value: at < 0 ? 'true' : text.slice(at + 1).trim() }
}

/** Tags from several sources: the first value of a name wins. */
export class TagList {
  readonly #values = new Map<string, string>()
  readonly #dropped = new Set<string>()

  /** Adds a tag, unless it is none, the list is full or the name has another value. */
  add({ name, value }: Tag): void {
    const known = this.#values.get(name)
    if (known === value) return
    if (known === undefined && this.#values.size < maxTags && isTagName(name) && isTagValue(value))
      this.#values.set(name, value)
    else this.drop(`tag:${name}`)
  }

  /** Names what is not a tag. Names come from the client, so their length and number are bounded. */
  drop(name: string): void {
    if (this.#dropped.size < maxDropped) this.#dropped.add(name.slice(0, maxDroppedLength).toWellFormed())
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** The canonical form: `name=value`, sorted. */
  list(): readonly string[] {
    return this.#values.size === 0
      ? noTags
      : Array.from(this.#values, ([name, value]) => `${name}=${value}`).sort()
  }

  listDropped(): readonly string[] {
    return this.#dropped.size === 0 ? noTags : [...this.#dropped].sort()
  }
}

const maxDropped = 32
const maxDroppedLength = 100
