import type { Pagination } from '../../../platform/validation/query-params.ts'
import {
  isObject,
  type Json,
  type ScimContext,
  ScimError,
  type ScimHandler,
  scimResponse,
} from './protocol.ts'

export const maxResults = 200
const defaultResults = 100
/** Maximum of an index or count: larger than any list, and in range for both databases. */
const maxInteger = 1_000_000_000

/** `startIndex` counts from one; RFC 7644, 3.4.2.4 defines lower values. */
export function parsePage(query: URLSearchParams): Pagination {
  const start = Math.max(1, parseInteger(query, 'startIndex', 1))
  const count = parseInteger(query, 'count', defaultResults)
  return { offset: start - 1, limit: Math.min(Math.max(0, count), maxResults) }
}

function parseInteger(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name)?.trim()
  if (text === undefined || text === '') return fallback
  if (/^-?\d+$/.test(text)) return Math.max(-maxInteger, Math.min(Number(text), maxInteger))
  throw new ScimError(400, 'invalidValue', `${name} must be a whole number.`)
}

export function buildListResponse(resources: Json[], total: number, page: Pagination): Response {
  return scimResponse({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: page.offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  })
}

export interface ResourcePage {
  resources: Json[]
  total: number
}

/** One page of the resources that match the filter. */
export type FindResources = (context: ScimContext, page: Pagination) => Promise<ResourcePage>

export function createListHandler(find: FindResources): ScimHandler {
  return async (context) => {
    const page = parsePage(context.query)
    const { resources, total } = await find(context, page)
    return buildListResponse(resources, total, page)
  }
}

/** The requested attributes of a resource: RFC 7644, 3.9. */
export class AttributeSelection {
  readonly #included: string[] | null
  readonly #excluded: string[]

  constructor(query: URLSearchParams) {
    const included = parseNames(query.get('attributes'))
    this.#included = included.length > 0 ? included : null
    this.#excluded = parseNames(query.get('excludedAttributes'))
  }

  get isExplicit(): boolean {
    return this.#included !== null
  }

  /** Whether a top-level attribute is returned at all, so that expensive ones need not be read. */
  isIncluded(attribute: string): boolean {
    const name = attribute.toLowerCase()
    if (this.#included) return this.#included.some((path) => path.split('.')[0] === name)
    return !this.#excluded.includes(name)
  }

  /** Whether `attributes` has exactly this path, for attributes returned only on request. */
  isRequested(path: string): boolean {
    return this.#included?.includes(path) ?? false
  }

  apply(resource: Json): Json {
    const shown: Json = {}
    for (const [name, value] of Object.entries(resource)) {
      const part = name === 'schemas' || name === 'id' ? value : this.#select(name, value)
      if (part !== undefined) shown[name] = part
    }
    return shown
  }

  #select(name: string, value: unknown): unknown {
    const lower = name.toLowerCase()
    if (this.#included) {
      if (this.#included.includes(lower)) return value
      const subs = this.#included.flatMap((path) => parseSubAttribute(path, lower))
      return subs.length > 0 ? filterSubAttributes(value, (sub) => subs.includes(sub)) : undefined
    }
    if (this.#excluded.includes(lower)) return undefined
    const subs = this.#excluded.flatMap((path) => parseSubAttribute(path, lower))
    return subs.length > 0 ? filterSubAttributes(value, (sub) => !subs.includes(sub)) : value
  }
}

function parseSubAttribute(path: string, name: string): string[] {
  return path.startsWith(`${name}.`) ? [path.slice(name.length + 1)] : []
}

function filterSubAttributes(value: unknown, isIncluded: (sub: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => filterSubAttributes(item, isIncluded))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([sub]) => isIncluded(sub.toLowerCase())))
}

const coreUrnPattern = /^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i

function parseNames(text: string | null): string[] {
  const names = (text ?? '').split(',').map((name) => name.trim().replace(coreUrnPattern, '').toLowerCase())
  return names.filter((name) => name !== '')
}
