import { addSetTags, assertTagsAllowed, type TagRules } from '../../governance/tags/rules.ts'
import {
  isTagName,
  isTagValue,
  maxTags,
  nameRule,
  splitTag,
  type Tag,
  TagList,
  valueRule,
} from '../../governance/tags/tag.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'

/** Headers by which clients name tags and the end user, with their values. */
export type LabelHeaders = ReadonlyMap<string, string>

export interface RequestTags {
  /** Canonical: `name=value`, sorted, one value for each name. */
  tags: readonly string[]
  /** Entries of metadata and headers that are not tags, by their names in `x-headgate-dropped`. */
  droppedTags: readonly string[]
}

const tagsHeader = 'x-headgate-tags'
const userHeader = 'x-headgate-user'
export const propertyPrefix = 'helicone-property-'
const metadataHeaders = ['x-portkey-metadata', 'cf-aig-metadata']
const listHeader = 'x-litellm-tags'
const userHeaders = [
  'helicone-user-id',
  'x-litellm-customer-id',
  'x-litellm-end-user-id',
  'x-openwebui-user-id',
]
const sessionHeaders = [
  'helicone-session-id',
  'x-litellm-session-id',
  'x-bf-session-id',
  'cf-aig-session-id',
  'x-portkey-trace-id',
]
export const labelHeaders: ReadonlySet<string> = new Set([
  ...[tagsHeader, userHeader, listHeader],
  ...metadataHeaders,
  ...userHeaders,
  ...sessionHeaders,
])

/** Entries of metadata that name the end user; the first one counts. */
const userEntries = ['_user', 'user_id']

/** Reads the tags of a request. Our own header wins over the body, and the body over headers of other gateways. */
export function readTags(
  metadata: JsonObject | undefined,
  headers: LabelHeaders | null,
  rules: TagRules | null,
): RequestTags {
  const list = new TagList()
  if (rules) addSetTags(list, rules)
  addOwnTags(list, headers?.get(tagsHeader))
  if (metadata) addMetadata(list, metadata)
  if (headers) addForeignTags(list, headers)
  if (rules) assertTagsAllowed(list, rules)
  return { tags: list.list(), droppedTags: list.listDropped() }
}

/**
 * Adds the tags of targets that were chosen for a request. A client cannot override them, nor displace them with other
 * tags; what its key or workspace sets cannot be overridden by them.
 */
export function tagTargets(
  { tags, droppedTags }: RequestTags,
  choices: readonly { tag: string }[],
  rules: TagRules | null,
): RequestTags {
  const known = tags.map(parseTag)
  const list = new TagList()
  if (rules) for (const tag of known) if (Object.hasOwn(rules.set, tag.name)) list.add(tag)
  for (const { tag } of choices) list.add(parseTag(tag))
  for (const tag of known) list.add(tag)
  for (const name of droppedTags) list.drop(name)
  return { tags: list.list(), droppedTags: list.listDropped() }
}

/** Of a canonical tag, whose value may begin with a space. */
function parseTag(tag: string): Tag {
  const at = tag.indexOf('=')
  return { name: tag.slice(0, at), value: tag.slice(at + 1) }
}

/** A tag of our own header is valid, or the request is rejected. */
function addOwnTags(list: TagList, header: string | undefined): void {
  const texts = header?.split(',').filter((text) => text.trim() !== '') ?? []
  const values = new Map<string, string>()
  for (const text of texts) {
    const { name, value } = splitTag(text)
    if (!isTagName(name)) throw invalidFieldError(tagsHeader, `the name of a tag ${nameRule}`)
    if (!isTagValue(value)) throw invalidFieldError(tagsHeader, `the value of "${name}" ${valueRule}`)
    if ((values.get(name) ?? value) !== value)
      throw invalidFieldError(tagsHeader, `must have one value of "${name}"`)
    values.set(name, value)
  }
  if (values.size > maxTags) throw invalidFieldError(tagsHeader, `must have at most ${maxTags} tags`)
  for (const [name, value] of values) list.add({ name, value })
}

function addMetadata(list: TagList, metadata: JsonObject): void {
  for (const name in metadata) {
    const value = metadata[name]
    if (userEntries.includes(name)) continue
    if (name === 'tags' && Array.isArray(value)) addTagTexts(list, value)
    else list.add({ name: name.toLowerCase(), value: toTagValue(value) })
  }
}

/** Other gateways write tags as texts of any form: mostly a word, `name:value` or `name=value`. */
function addTagTexts(list: TagList, texts: readonly unknown[]): void {
  for (const text of texts.slice(0, maxTexts)) list.add(splitTag(toTagValue(text), /[=:]/))
  if (texts.length > maxTexts) list.drop('metadata.tags')
}

const maxTexts = 100

/** Empty for what cannot be the value of a tag. */
function toTagValue(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : (asString(value)?.trim() ?? '')
}

function addForeignTags(list: TagList, headers: LabelHeaders): void {
  for (const name of metadataHeaders) {
    const text = headers.get(name)
    const metadata = text === undefined ? undefined : parseMetadata(text)
    if (metadata) addMetadata(list, metadata)
    else if (text) list.drop(name)
  }
  for (const [name, value] of headers)
    if (name.startsWith(propertyPrefix))
      list.add({ name: name.slice(propertyPrefix.length), value: value.trim() })
  const texts = headers.get(listHeader)?.split(',') ?? []
  addTagTexts(
    list,
    texts.filter((text) => text.trim() !== ''),
  )
}

function parseMetadata(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The end user that our own header names. */
export function readOwnUser(headers: LabelHeaders): string | undefined {
  const user = headers.get(userHeader)?.trim()
  if (user !== undefined && (user.length > maxUserLength || /\p{Cc}/u.test(user)))
    throw invalidFieldError(
      userHeader,
      `must have at most ${maxUserLength} characters, none of them a control character`,
    )
  return user || undefined
}

const maxUserLength = 256

/** The end user that a header of another gateway or of a client names. */
export function readForeignUser(headers: LabelHeaders): string | undefined {
  for (const name of metadataHeaders) {
    const metadata = parseMetadata(headers.get(name) ?? '')
    const user = metadata && readUserEntry(metadata)
    if (user) return user
  }
  return findLabel(headers, userHeaders)
}

export function readUserEntry(metadata: JsonObject): string | undefined {
  for (const name of userEntries) {
    const value = toTagValue(metadata[name])
    if (value !== '') return value
  }
  return undefined
}

/** The session that a header of another gateway names. */
export function readForeignSession(headers: LabelHeaders): string | undefined {
  return findLabel(headers, sessionHeaders)
}

function findLabel(headers: LabelHeaders, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name)
    if (value) return value
  }
  return undefined
}
