import { isSameForKey, type LimitRule } from './limit-rule.ts'

/** The properties of a key that limits match. */
export interface LimitedKey {
  id: number
  workspace_id: string
  creator_user_id: string | null
  tier: string | null
}

/** The properties of a request that limits match, besides its key and its candidates. */
export interface LimitedFacts {
  endUser: string | null
  tags: readonly string[]
}

/** The limits that may apply to requests of a key. */
export interface KeyLimits {
  /** Apply to all of them. */
  readonly always: readonly LimitRule[]
  /** Depend on the request. */
  readonly selective: readonly RuleSelector[]
}

/**
 * The limits of an organization. A request looks up those that may apply to it, so that thousands of limits for other
 * keys, tags or end users cost it nothing.
 */
export class LimitIndex {
  readonly #byOwner = new Map<string, LimitRule[]>()
  /** Limits for all keys. */
  readonly #always: LimitRule[] = []
  readonly #selector = new RuleSelector()

  constructor(rules: readonly LimitRule[]) {
    for (const rule of rules) {
      const owner = ownerOf(rule)
      if (owner !== null) append(this.#byOwner, owner, rule)
      else if (isSameForKey(rule)) this.#always.push(rule)
      else this.#selector.add(rule)
    }
  }

  /** Null if no limit applies to any request of the key. */
  forKey(key: LimitedKey): KeyLimits | null {
    const own = listOwners(key).flatMap((owner) => this.#byOwner.get(owner) ?? [])
    const matching = own.filter((rule) => matchesKey(rule, key))
    const selector = new RuleSelector()
    for (const rule of matching) if (!isSameForKey(rule)) selector.add(rule)
    const always = [...this.#always, ...matching.filter(isSameForKey)]
    const selective = [this.#selector, selector].filter(({ isEmpty }) => !isEmpty)
    return always.length === 0 && selective.length === 0 ? null : { always, selective }
  }
}

/** The narrowest property of a key that a limit names; null if it names none. */
function ownerOf({ match: { keyId, userId, workspaceId, tier } }: LimitRule): string | null {
  if (keyId !== null) return `key ${keyId}`
  if (userId !== null) return `member ${userId}`
  if (workspaceId !== null) return `workspace ${workspaceId}`
  return tier === null ? null : `tier ${tier}`
}

function listOwners({ id, workspace_id, creator_user_id, tier }: LimitedKey): string[] {
  return [`tier ${tier}`, `workspace ${workspace_id}`, `member ${creator_user_id}`, `key ${id}`]
}

function matchesKey({ match }: LimitRule, key: LimitedKey): boolean {
  return (
    (match.keyId === null || match.keyId === key.id) &&
    (match.userId === null || match.userId === key.creator_user_id) &&
    (match.workspaceId === null || match.workspaceId === key.workspace_id) &&
    (match.tier === null || match.tier === key.tier)
  )
}

/** Limits by the end user or the tag that they are for. */
export class RuleSelector {
  readonly #byEndUser = new Map<string, LimitRule[]>()
  readonly #byTag = new Map<string, LimitRule[]>()
  readonly #others: LimitRule[] = []
  isEmpty = true

  add(rule: LimitRule): void {
    this.isEmpty = false
    const { endUser, tags } = rule.match
    const [tag] = tags
    if (endUser !== null) append(this.#byEndUser, endUser, rule)
    else if (tag !== undefined) append(this.#byTag, tag, rule)
    else this.#others.push(rule)
  }

  /** The limits whose end user and tags are those of a request. */
  *select({ endUser, tags }: LimitedFacts): Generator<LimitRule> {
    yield* this.#others
    if (endUser !== null)
      for (const rule of this.#byEndUser.get(endUser) ?? []) if (hasTags(rule, tags)) yield rule
    for (const tag of tags) for (const rule of this.#byTag.get(tag) ?? []) if (hasTags(rule, tags)) yield rule
  }
}

function hasTags({ match }: LimitRule, tags: readonly string[]): boolean {
  return match.tags.every((tag) => tags.includes(tag))
}

function append(lists: Map<string, LimitRule[]>, name: string, rule: LimitRule): void {
  const list = lists.get(name)
  if (list) list.push(rule)
  else lists.set(name, [rule])
}
