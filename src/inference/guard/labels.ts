import { type BodyFields, collectBodyTexts, replaceBodyTexts } from '../../formats/call/body-texts.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { RuleSet } from '../../governance/filters/scanner.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import { maxValueLength, splitTag, TagList } from '../../governance/tags/tag.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { RequestOptions } from '../request/options.ts'

/** Fields of a body, outside of the prompt, that replies and destinations repeat. */
const repeatedFields = [
  ...['user', 'safety_identifier', 'prompt_cache_key', 'metadata'],
  ...['session_id', 'text', 'tool_choice'],
] as const

/** Texts of a request besides its prompt that records, destinations and replies repeat. */
interface Labels {
  options: RequestOptions
  /** The fields of the body that have changed. */
  fields: JsonObject
  hits: GuardrailHit[]
}

/**
 * Redacts what no provider receives. A filter that blocks redacts it too: the address of an app, for example, is not
 * part of the prompt.
 */
export async function redactLabels(
  { scanner }: Gateway,
  { options, content: { body } }: Pick<RequestState, 'options' | 'content'>,
  rules: RuleSet,
): Promise<Labels> {
  const { sessionId, user, app } = options
  const labels = {
    ...{ sessionId, user, url: app.url, title: app.title, trace: body.trace },
    tags: toTagValues(options.tags),
  }
  const repeated = Object.fromEntries(repeatedFields.map((name) => [name, body[name]]))
  const [labelTexts, repeatedTexts] = [collectTexts(labels), collectTexts(repeated)]
  const results = await scanner.redact(rules, [...labelTexts, ...repeatedTexts])
  const texts = results.map(({ text }) => text)
  const { trace, tags, ...names } = replaceBodyTexts(labels, fieldsOf(labels), texts)
  const fields = replaceBodyTexts(repeated, fieldsOf(repeated), texts.slice(labelTexts.length))
  return {
    options: {
      ...options,
      sessionId: asString(names.sessionId) ?? null,
      user: asString(names.user) ?? null,
      tags: toTags(tags),
      app: { url: asString(names.url) ?? null, title: asString(names.title) ?? null },
    },
    fields: listChanges(body, { ...fields, trace }),
    // Those of the other fields were found in the prompt.
    hits: results
      .slice(0, labelTexts.length)
      .flatMap(({ hits }) => hits.map((hit) => ({ ...hit, direction: 'input' as const }))),
  }
}

/** Only the values: a filter does not change names. */
function toTagValues(tags: readonly string[]): JsonObject {
  return Object.fromEntries(tags.map((tag) => splitTag(tag)).map(({ name, value }) => [name, value]))
}

function toTags(values: unknown): readonly string[] {
  const list = new TagList()
  const tags = asObject(values) ?? {}
  for (const name in tags) list.add({ name, value: asString(tags[name])?.slice(0, maxValueLength) ?? '' })
  return list.list()
}

function collectTexts(values: JsonObject) {
  return collectBodyTexts(values, fieldsOf(values))
}

/** Each is a text, or an object with texts. */
function fieldsOf(values: JsonObject): BodyFields {
  return { known: new Set(Object.keys(values)), structural: new Set() }
}

function listChanges(before: JsonObject, after: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => value !== before[name]))
}
