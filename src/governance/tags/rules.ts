import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { TagList } from './tag.ts'

/** The rules of a key or a workspace about the tags of its requests. */
export interface TagRules {
  /** Names that every request must have. */
  required: readonly string[]
  /** Names that clients must not send. */
  forbidden: readonly string[]
  /** Tags of every request, whatever the client sends. */
  set: Readonly<Record<string, string>>
}

/** Decodes stored rules. */
export function decodeTagRules(stored: string | null): TagRules | null {
  return stored === null ? null : (JSON.parse(stored) as TagRules)
}

/** Rules that say nothing are stored as null. */
export function encodeTagRules(rules: TagRules | null): string | null {
  const { required = [], forbidden = [], set = {} } = rules ?? {}
  const isEmpty = required.length + forbidden.length + Object.keys(set).length === 0
  return isEmpty ? null : JSON.stringify({ required, forbidden, set })
}

/** Combines the rules of a workspace and a key. A key cannot change what its workspace sets. */
export function combineTagRules(workspace: string | null, key: string | null): TagRules | null {
  const [outer, inner] = [decodeTagRules(workspace), decodeTagRules(key)]
  if (!outer || !inner) return outer ?? inner
  return {
    required: [...new Set([...outer.required, ...inner.required])],
    forbidden: [...new Set([...outer.forbidden, ...inner.forbidden])],
    set: { ...inner.set, ...outer.set },
  }
}

/** Adds the tags that are set. They come first in a list, so that no other value of these names is added. */
export function addSetTags(list: TagList, { set }: TagRules): void {
  for (const name in set) list.add({ name, value: set[name] ?? '' })
}

/** Rejects a request whose tags break the rules; the tags that are set are in the list. */
export function assertTagsAllowed(list: TagList, { required, forbidden, set }: TagRules): void {
  for (const name of forbidden)
    if (list.has(name) && !Object.hasOwn(set, name))
      throw invalidFieldError('tags', `the key or its workspace forbids the tag "${name}"`)
  for (const name of required)
    if (!list.has(name))
      throw invalidFieldError(
        'tags',
        `the key or its workspace requires the tag "${name}"; send the header x-headgate-tags: ${name}=<value>`,
      )
}
