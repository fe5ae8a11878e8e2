import type { Page } from '../../lib/page.ts'
import {
  isObject,
  type Json,
  ScimError,
  type ScimHandler,
  type ScimRequest,
  scimResponse,
} from './protocol.ts'

export const maxResults = 200
const defaultResults = 100
/** Beyond any list, and a number either database takes. */
const most = 1_000_000_000

/** `startIndex` counts from one; RFC 7644, 3.4.2.4 says what values below the least mean. */
export function pageOfQuery(query: URLSearchParams): Page {
  const start = Math.max(1, integerOf(query, 'startIndex', 1))
  const count = integerOf(query, 'count', defaultResults)
  return { offset: start - 1, limit: Math.min(Math.max(0, count), maxResults) }
}

function integerOf(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name)?.trim()
  if (text === undefined || text === '') return fallback
  if (/^-?\d+$/.test(text)) return Math.max(-most, Math.min(Number(text), most))
  throw new ScimError(400, 'invalidValue', `${name} must be a whole number.`)
}

export function listResponse(resources: Json[], total: number, page: Page): Response {
  return scimResponse({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: page.offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  })
}

export interface FoundResources {
  resources: Json[]
  total: number
}

/** The resources of a page of those that the filter of the query matches. */
export type FindResources = (ask: ScimRequest, page: Page) => Promise<FoundResources>

export function listHandler(find: FindResources): ScimHandler {
  return async (ask) => {
    const page = pageOfQuery(ask.query)
    const { resources, total } = await find(ask, page)
    return listResponse(resources, total, page)
  }
}

/** Which attributes of a resource were asked for: RFC 7644, 3.9. */
export class Selection {
  readonly #only: string[] | null
  readonly #except: string[]

  constructor(query: URLSearchParams) {
    const only = namesOf(query.get('attributes'))
    this.#only = only.length > 0 ? only : null
    this.#except = namesOf(query.get('excludedAttributes'))
  }

  get isExplicit(): boolean {
    return this.#only !== null
  }

  /** Whether a top-level attribute will be shown at all, so that costly ones need not be read. */
  shows(attribute: string): boolean {
    const name = attribute.toLowerCase()
    if (this.#only) return this.#only.some((wanted) => wanted.split('.')[0] === name)
    return !this.#except.includes(name)
  }

  /** Whether `attributes` has this very path, for what is shown only on request. */
  names(path: string): boolean {
    return this.#only?.includes(path) ?? false
  }

  of(resource: Json): Json {
    const shown: Json = {}
    for (const [name, value] of Object.entries(resource)) {
      const kept = name === 'schemas' || name === 'id' ? value : this.#part(name, value)
      if (kept !== undefined) shown[name] = kept
    }
    return shown
  }

  #part(name: string, value: unknown): unknown {
    const lower = name.toLowerCase()
    if (this.#only) {
      if (this.#only.includes(lower)) return value
      const subs = this.#only.flatMap((path) => subOf(path, lower))
      return subs.length > 0 ? narrowed(value, (sub) => subs.includes(sub)) : undefined
    }
    if (this.#except.includes(lower)) return undefined
    const subs = this.#except.flatMap((path) => subOf(path, lower))
    return subs.length > 0 ? narrowed(value, (sub) => !subs.includes(sub)) : value
  }
}

function subOf(path: string, name: string): string[] {
  return path.startsWith(`${name}.`) ? [path.slice(name.length + 1)] : []
}

function narrowed(value: unknown, keep: (sub: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => narrowed(item, keep))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([sub]) => keep(sub.toLowerCase())))
}

const coreUrn = /^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i

function namesOf(text: string | null): string[] {
  const names = (text ?? '').split(',').map((name) => name.trim().replace(coreUrn, '').toLowerCase())
  return names.filter((name) => name !== '')
}
