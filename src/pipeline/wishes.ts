import type { FormatNames } from '../dialects/reasoning-format.ts'
import type { Preferences } from '../dialects/schema/preferences.ts'
import { badField } from '../errors.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../lib/loose.ts'

/** What a request says about how it should be served, beside what it asks the model. */
export interface Wishes {
  /** Slugs in the order they are to be tried. */
  models: string[]
  provider: Preferences
  sessionId: string | null
  /** The end user, as the client names them. */
  user: string | null
  app: { url: string | null; title: string | null }
  /** Anything a translation would lose is refused. */
  strict: boolean
  /** Its answer is to say how it came about. */
  isExplained: boolean
  /** Which names of reasoning formats its answer uses. */
  formatNames: FormatNames
}

/** More would be a way to try the whole catalogue in one request. */
const maxFallbacks = 3
const maxLabel = 256

export function readWishes(body: JsonObject, headers: Headers, defaultModel: string | null): Wishes {
  return {
    models: modelsOf(body, defaultModel),
    // The operation's schema checked it; a preset's was checked when it was made.
    provider: (objectOf(body.provider) ?? {}) as Preferences,
    sessionId: label(
      textOf(body.session_id) ?? headerOf(headers, sessionHeaders) ?? textOf(body.prompt_cache_key),
    ),
    user: label(userOf(body) ?? headerOf(headers, userHeaders)),
    app: { url: label(headers.get('http-referer')), title: label(headerOf(headers, titleHeaders)) },
    strict: headers.get('x-headgate-strict') === 'true',
    isExplained: headerOf(headers, metadataHeaders)?.toLowerCase() === 'enabled',
    formatNames: headers.get('x-headgate-reasoning-formats') === 'neutral' ? 'neutral' : 'sdk',
  }
}

const sessionHeaders = [
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'x-session-affinity',
  'x-openwebui-chat-id',
]
const userHeaders = ['x-openwebui-user-id']
const metadataHeaders = [
  'x-service-metadata',
  'x-service-experimental-metadata',
  'x-openrouter-metadata',
  'x-openrouter-experimental-metadata',
]
const titleHeaders = ['x-title', 'x-headgate-title', 'x-openrouter-title']

function headerOf(headers: Headers, names: string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name)
    if (value) return value
  }
  return undefined
}

/** Kept in a record: bounded, and without what a database would refuse. */
function label(text: string | null | undefined): string | null {
  return text ? text.slice(0, maxLabel).replaceAll('\0', '').toWellFormed() : null
}

function userOf(body: JsonObject): string | undefined {
  return (
    textOf(body.user) ??
    textOf(body.safety_identifier) ??
    textOf(objectOf(body.metadata)?.user_id) ??
    undefined
  )
}

function modelsOf(body: JsonObject, defaultModel: string | null): string[] {
  const first = textOf(body.model) || undefined
  const listed = Array.isArray(body.models) ? body.models.filter((model) => typeof model === 'string') : []
  const fallbacks = objectsOf(body.fallbacks).flatMap((entry) => textOf(entry.model) ?? [])
  if (listed.length > 0 && fallbacks.length > 0) throw badField('fallbacks', 'cannot be combined with models')
  if (fallbacks.length > maxFallbacks)
    throw badField('fallbacks', `must have at most ${maxFallbacks} entries`)
  if (listed.length > maxFallbacks) throw badField('models', `must have at most ${maxFallbacks} entries`)
  const models = [...new Set([...(first ? [first] : []), ...listed, ...fallbacks])]
  if (models.length > 0) return models
  if (defaultModel) return [defaultModel]
  throw badField('model', 'is required, because the workspace has no default model')
}
