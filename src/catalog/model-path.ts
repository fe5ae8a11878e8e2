import { z } from 'zod'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import type { Catalog } from './catalog.ts'
import type { ResolvedModel } from './lookup.ts'
import { findModelOrRouter } from './router-models.ts'

export const modelPath = z.object({
  author: z.string().min(1),
  slug: z.string().min(1).describe('May end in a variant such as `:free`; known aliases are resolved'),
})

export function requireModel(catalog: Catalog, { author, slug }: z.output<typeof modelPath>): ResolvedModel {
  const resolved = findModelOrRouter(catalog, `${author}/${slug}`)
  if (!resolved) throw gatewayError('not_found', 'The model does not exist.')
  return resolved
}
