import type { NameNotice } from '../../catalog/resolve-names.ts'
import type { RouterStrategy } from '../../catalog/router-models.ts'
import type { SplitChoice } from '../../catalog/split.ts'
import type { FormatNames } from '../../formats/reasoning-format.ts'
import { type ReasonFallbacks, reasonFallbacks } from '../../formats/schema/fallbacks.ts'
import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import { listServiceHeaders } from '../../formats/synonyms.ts'
import type { Priority } from '../../formats/vocabulary.ts'
import type { TagRules } from '../../governance/tags/rules.ts'
import { noTags } from '../../governance/tags/tag.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { flattenIssues } from '../../platform/validation/validation-issues.ts'
import { type AttemptOptions, parseAttemptOptions, timeoutHeader } from './attempt-options.ts'
import { parsePriority, priorityHeader } from './priority.ts'
import {
  type LabelHeaders,
  labelHeaders,
  propertyPrefix,
  type RequestTags,
  readForeignSession,
  readForeignUser,
  readOwnUser,
  readTags,
  readUserEntry,
} from './tags.ts'

/** Options of serving a request, as opposed to the content that is sent to the model. */
export interface RequestOptions {
  /** Slugs, in the order they are tried. */
  models: string[]
  /** The first name of the request, if names of it were aliases, or of expired models. */
  requested?: string
  /** Names that were aliases, or of expired models. */
  notices?: readonly NameNotice[]
  /** The targets that were chosen for an alias that divides its requests. */
  splits?: readonly SplitChoice[]
  /** The router model that the client named first, if it named one. */
  routed?: RoutedModel
  preferences: ProviderPreferences
  sessionId: string | null
  /** The end user, as the client names them. */
  user: string | null
  /** Canonical: `name=value`, sorted, one value for each name. */
  tags: readonly string[]
  /** Entries of metadata and headers that are not tags, by their names in `x-headgate-dropped`. */
  droppedTags: readonly string[]
  app: { url: string | null; title: string | null }
  /** Whether the request is rejected if a translation would drop a field. */
  strict: boolean
  /** Whether the reply includes `service_metadata`. */
  wantsMetadata: boolean
  /** The names of reasoning formats in the reply. */
  reasoningFormatNames: FormatNames
  /** What the request says about its attempts; null if nothing. */
  attempts: AttemptOptions | null
  /** Which requests pass first where the rate of a provider is nearly used. */
  priority: Priority
  /** Models by the reason for which they are tried; null if the request names none by reason. */
  fallbacks: ReasonFallbacks | null
}

/** A router model, and the models it was replaced by. */
export interface RoutedModel {
  requested: string
  strategy: RouterStrategy
  models: readonly string[]
}

/** The options of a request that a stage makes for another one, to a model that the client has not named. */
export function createStageOptions(options: RequestOptions, model: string): RequestOptions {
  const { requested: _name, notices: _notices, splits: _splits, routed: _routed, ...others } = options
  const { data_collection, zdr } = options.preferences
  return {
    ...others,
    models: [model],
    preferences: { data_collection, zdr },
    strict: false,
    wantsMetadata: false,
    attempts: null,
    fallbacks: null,
  }
}

const untagged: RequestTags = { tags: noTags, droppedTags: noTags }

/** Bounds the models that one request can try. */
const maxFallbacks = 3
const maxLabelLength = 256

/** What is set for the requests of a key. */
interface KeyDefaults {
  defaultModel: string | null
  tagRules: TagRules | null
  priority: Priority
  maxPriority: Priority
}

/** `outerTags`: what another request makes has the tags of that one. */
export function parseOptions(
  body: JsonObject,
  headers: Headers,
  keyDefaults: KeyDefaults,
  outerTags?: readonly string[],
): RequestOptions {
  const { defaultModel, tagRules } = keyDefaults
  const rules = outerTags ? null : tagRules
  const labels = findLabelHeaders(headers)
  const metadata = body.metadata === undefined ? undefined : asObject(body.metadata)
  const { tags, droppedTags } = labels || metadata || rules ? readTags(metadata, labels, rules) : untagged
  // Validated by the operation's schema; a preset's, when the preset was created.
  const preferences = (asObject(body.provider) ?? noPreferences) as ProviderPreferences
  const timeout = headers.get(timeoutHeader)
  const hasPriority = preferences.priority != null || headers.has(priorityHeader)
  return {
    models: parseModels(body, defaultModel),
    preferences,
    sessionId: sanitizeLabel(
      asString(body.session_id) ??
        findHeader(headers, sessionHeaders) ??
        (labels && readForeignSession(labels)) ??
        asString(body.prompt_cache_key),
    ),
    user: sanitizeLabel(
      (labels && readOwnUser(labels)) ??
        asString(body.user) ??
        asString(body.safety_identifier) ??
        (metadata && readUserEntry(metadata)) ??
        (labels && readForeignUser(labels)),
    ),
    tags: outerTags ?? tags,
    droppedTags,
    app: {
      url: sanitizeLabel(headers.get('http-referer')),
      title: sanitizeLabel(findHeader(headers, titleHeaders)),
    },
    strict: headers.get('x-headgate-strict') === 'true',
    wantsMetadata: findHeader(headers, metadataHeaders)?.toLowerCase() === 'enabled',
    reasoningFormatNames: headers.get('x-headgate-reasoning-formats') === 'neutral' ? 'neutral' : 'sdk',
    attempts:
      timeout === null && preferences === noPreferences ? null : parseAttemptOptions(preferences, timeout),
    priority: hasPriority ? parsePriority(preferences, headers, keyDefaults) : keyDefaults.priority,
    fallbacks: body.fallbacks === undefined ? null : parseReasonFallbacks(body.fallbacks),
  }
}

/** The headers with labels; null if there are none, as in most requests. */
function findLabelHeaders(headers: Headers): LabelHeaders | null {
  let found: Map<string, string> | null = null
  for (const name of headers.keys()) {
    if (!labelHeaders.has(name) && !name.startsWith(propertyPrefix)) continue
    found ??= new Map()
    found.set(name, headers.get(name) ?? '')
  }
  return found
}
const noPreferences: ProviderPreferences = {}

const sessionHeaders = [
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'x-session-affinity',
  'x-openwebui-chat-id',
]
const titleHeaders = ['x-title', 'x-headgate-title', ...listServiceHeaders('title')]
const metadataHeaders = [...listServiceHeaders('metadata'), ...listServiceHeaders('experimental-metadata')]

function findHeader(headers: Headers, names: string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name)
    if (value) return value
  }
  return undefined
}

/** Bounds a label that is stored with the generation, and removes characters that PostgreSQL rejects. */
export function sanitizeLabel(text: string | null | undefined, maxLength = maxLabelLength): string | null {
  return text ? text.slice(0, maxLength).replaceAll('\0', '').toWellFormed() : null
}

/** Labels for records are often values of the request: where a filter changes these, it changes the labels. */
export function replaceLabels(
  options: RequestOptions,
  changes: readonly (readonly [before: string | undefined, after: string | undefined])[],
): RequestOptions {
  const labels = new Map(changes.map(([before, after]) => [sanitizeLabel(before), sanitizeLabel(after)]))
  const replace = (label: string | null) => (label === null ? null : (labels.get(label) ?? label))
  return { ...options, user: replace(options.user), sessionId: replace(options.sessionId) }
}

function parseModels(body: JsonObject, defaultModel: string | null): string[] {
  const first = asString(body.model) || undefined
  const others = body.models === undefined && body.fallbacks === undefined ? noModels : parseFallbacks(body)
  if (first && others.length === 0) return [first]
  const models = [...new Set(first ? [first, ...others] : others)]
  if (models.length > 0) return models
  if (defaultModel) return [defaultModel]
  throw invalidFieldError('model', 'is required, because the workspace has no default model')
}

/** A list is for any reason. */
function parseReasonFallbacks(value: unknown): ReasonFallbacks | null {
  if (value === null || Array.isArray(value)) return null
  const { success, data, error } = reasonFallbacks.safeParse(value)
  if (success) return data
  const [issue] = flattenIssues(error)
  throw invalidFieldError(['fallbacks', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'is not valid')
}

const noModels: readonly string[] = []

/** The models to try besides the first, by the name of any format. */
function parseFallbacks(body: JsonObject): readonly string[] {
  const listed = Array.isArray(body.models) ? body.models.filter((model) => typeof model === 'string') : []
  const fallbacks = asObjects(body.fallbacks).flatMap((entry) => asString(entry.model) ?? [])
  if (listed.length > 0 && fallbacks.length > 0)
    throw invalidFieldError('fallbacks', 'cannot be combined with models')
  if (fallbacks.length > maxFallbacks)
    throw invalidFieldError('fallbacks', `must have at most ${maxFallbacks} entries`)
  if (listed.length > maxFallbacks)
    throw invalidFieldError('models', `must have at most ${maxFallbacks} entries`)
  return [...listed, ...fallbacks]
}
