import { z } from 'zod'
import { PatternBudget } from '../../lib/pattern.ts'
import { when } from '../../lib/schema-rules.ts'
import { type BuiltinFilter, type CustomFilter, scopedBuiltin } from '../../policy/guardrail.ts'
import { builtinSlug, filterAction, scanScope } from './record.ts'

const maxLabel = 100
const maxFilters = 100

/** For the patterns of one guardrail together, as for a single one: every message is held against them all. */
const maxPatternCharacters = 100_000
const maxPatternSize = 110_000

const builtinInput = z
  .strictObject({
    slug: builtinSlug,
    action: filterAction,
    scan_scope: scanScope.optional().describe(`Only for ${scopedBuiltin}; default all_messages`),
    label: z.string().max(maxLabel).optional().meta({ deprecated: true, description: 'Ignored' }),
  })
  .refine(({ slug, scan_scope }) => scan_scope === undefined || slug === scopedBuiltin, {
    path: ['scan_scope'],
    error: `is only for ${scopedBuiltin}`,
  })
  .meta({
    override: when({ required: ['scan_scope'] }, { properties: { slug: { const: scopedBuiltin } } }),
  })
  .transform(({ slug, action, scan_scope = 'all_messages' }): BuiltinFilter => {
    return slug === scopedBuiltin ? { slug, action, scan_scope } : { slug, action }
  })

export const builtinFilters = z
  .array(builtinInput)
  .max(maxFilters)
  .superRefine((filters, context) => {
    const seen = new Set<string>()
    for (const [index, { slug }] of filters.entries()) {
      if (seen.has(slug)) {
        context.addIssue({ code: 'custom', path: [index, 'slug'], message: `${slug} is there twice` })
      }
      seen.add(slug)
    }
  })
  .describe('Each slug once')

const customInput = z
  .strictObject({
    pattern: z
      .string()
      .min(1)
      .max(maxPatternCharacters)
      .meta({ format: 'regex' })
      .describe('A regular expression without lookaround and backreferences'),
    action: filterAction,
    label: z.string().max(maxLabel).nullish().describe('Stands in the place of what was found'),
  })
  .transform(({ pattern, action, label = null }): CustomFilter => ({ pattern, action, label }))

export const customFilters = z.array(customInput).max(maxFilters).superRefine(checkPatterns)

function checkPatterns(filters: CustomFilter[], context: z.RefinementCtx): void {
  const budget = new PatternBudget({ characters: maxPatternCharacters, size: maxPatternSize })
  for (const [index, { pattern }] of filters.entries()) {
    const message = budget.problemOf(pattern)
    if (message === null) continue
    context.addIssue({ code: 'custom', path: [index, 'pattern'], message })
    return
  }
}
