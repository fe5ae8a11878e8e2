import { z } from 'zod'
import { fail } from '../errors.ts'
import { type Found, findModel, type Names } from './lookup.ts'

export const modelPath = z.object({
  author: z.string().min(1),
  slug: z.string().min(1).describe('May end in a variant such as `:free`; known aliases are resolved'),
})

export function requireModel(names: Names, { author, slug }: z.output<typeof modelPath>): Found {
  const found = findModel(names, `${author}/${slug}`)
  if (!found) throw fail('not_found', 'The model does not exist.')
  return found
}
