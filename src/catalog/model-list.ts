import { z } from 'zod'
import { outputModalities } from '../formats/vocabulary.ts'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../platform/http/request-url.ts'
import { queryInteger } from '../platform/validation/query-params.ts'
import type { Model } from './model.ts'
import { type ModelBenchmarks, modelRecord, toModelRecord } from './model-record.ts'

const defaultLimit = 500

export const listQuery = {
  offset: queryInteger({ min: 0, fallback: 0 }).optional(),
  limit: queryInteger({ min: 1, max: 1000, fallback: defaultLimit }).optional(),
  after_id: z.string().optional().describe('Start after this model: paging of the Messages API'),
}

interface Page {
  offset?: number | undefined
  limit?: number | undefined
  after_id?: string | undefined
}

export const modelListFields = {
  data: z.array(modelRecord),
  total_count: z.int(),
  links: z.strictObject({ next: z.string().nullable() }),
  object: z.literal('list'),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
}

export const modelList = z.strictObject(modelListFields).meta({ id: 'ModelsListResponse' })

/** One page of models with the paging fields of every client format. Without paging parameters it is the whole list. */
export function toModelList(
  models: readonly Model[],
  page: Page,
  httpRequest: Request,
  findBenchmarks: (model: Model) => ModelBenchmarks | undefined,
): z.input<typeof modelList> {
  const { offset = 0, limit = defaultLimit, after_id } = page
  const isUnpaged = page.offset === undefined && page.limit === undefined
  const start = offset + (after_id ? findIndexAfter(models, after_id) : 0)
  const end = isUnpaged ? models.length : Math.min(start + limit, models.length)
  const listed = models.slice(start, end)
  return {
    data: listed.map((model) => toModelRecord(model, null, findBenchmarks(model))),
    total_count: models.length,
    links: { next: end < models.length ? buildNextLink(httpRequest, end, limit) : null },
    object: 'list',
    has_more: end < models.length,
    first_id: listed[0]?.id ?? null,
    last_id: listed.at(-1)?.id ?? null,
  }
}

function findIndexAfter(models: readonly Model[], id: string): number {
  const index = models.findIndex((model) => model.id === id)
  if (index < 0) throw invalidFieldError('after_id', 'is not a model of this list')
  return index + 1
}

/** The same query, with the offset of the next page. */
function buildNextLink(httpRequest: Request, offset: number, limit: number): string {
  const url = parseRequestUrl(httpRequest)
  url.searchParams.delete('after_id')
  url.searchParams.set('offset', String(offset))
  url.searchParams.set('limit', String(limit))
  const path = url.pathname.replace(/^.*?\/v1/, '/api/v1').replace(/\/$/, '')
  return `${path}?${url.searchParams}`
}

/** A comma-separated list of known values. */
export function commaListQuery<const Word extends string>(words: readonly Word[]) {
  return z
    .string()
    .transform((text, context) => parseCommaList(text, words, context))
    .meta({ override: { type: 'string', pattern: `^${buildListPattern(words)}$` } })
}

/** Models with at least one of these output modalities; text by default. */
export const outputModalitiesQuery = z
  .string()
  .optional()
  .transform((text = 'text', context) =>
    text === 'all' ? [...outputModalities] : parseCommaList(text, outputModalities, context),
  )
  .meta({
    override: { type: 'string', default: 'text', pattern: `^(all|${buildListPattern(outputModalities)})$` },
    description: 'A comma-separated list, or `all`',
  })

function buildListPattern(words: readonly string[]): string {
  const word = ` *(${words.join('|')}) *`
  return `${word}(,${word})*`
}

function parseCommaList<Word extends string>(
  text: string,
  words: readonly Word[],
  context: z.RefinementCtx,
): Word[] {
  const requested = text.split(',').map((word) => word.trim())
  const known = requested.flatMap((word) => words.find((candidate) => candidate === word) ?? [])
  if (known.length === requested.length) return known
  context.addIssue({ code: 'custom', message: `must be a comma-separated list of ${words.join(', ')}` })
  return z.NEVER
}
