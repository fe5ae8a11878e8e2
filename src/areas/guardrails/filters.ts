import { z } from 'zod'
import { PatternBudget } from '../../lib/pattern.ts'
import { ifThen } from '../../lib/schema-rules.ts'
import { type BuiltinFilter, type CustomFilter, scopedBuiltin } from '../../policy/guardrail.ts'
import { builtinSlug, filterAction, scanScope } from './record.ts'

const maxLabelLength = 100
const maxFilters = 100

/** For all patterns of one guardrail together, as for a single one: every message is matched against them all. */
const maxPatternCharacters = 100_000
const maxPatternSize = 110_000

const builtinInput = z
  .strictObject({
    slug: builtinSlug,
    action: filterAction,
    scan_scope: scanScope.optional().describe(`Only for ${scopedBuiltin}. Defaults to all_messages.`),
    label: z.string().max(maxLabelLength).optional().meta({ deprecated: true, description: 'Ignored.' }),
  })
  .refine(({ slug, scan_scope }) => scan_scope === undefined || slug === scopedBuiltin, {
    path: ['scan_scope'],
    error: `is only for ${scopedBuiltin}`,
  })
  .meta({
    override: ifThen({ required: ['scan_scope'] }, { properties: { slug: { const: scopedBuiltin } } }),
  })
  .transform(({ slug, action, scan_scope = 'all_messages' }): BuiltinFilter => {
    return slug === scopedBuiltin ? { slug, action, scan_scope } : { slug, action }
  })

export const builtinFilters = z
  .array(builtinInput)
  .max(maxFilters)
  .superRefine((filters, context) => {
    const slugs = new Set<string>()
    for (const [index, { slug }] of filters.entries()) {
      if (slugs.has(slug)) {
        context.addIssue({ code: 'custom', path: [index, 'slug'], message: `${slug} is sent twice` })
      }
      slugs.add(slug)
    }
  })
  .describe('Each slug at most once.')

const customInput = z
  .strictObject({
    pattern: z
      .string()
      .min(1)
      .max(maxPatternCharacters)
      .meta({ format: 'regex' })
      .describe('A regular expression without lookaround and backreferences.'),
    action: filterAction,
    label: z.string().max(maxLabelLength).nullish().describe('The text that replaces a match.'),
  })
  .transform(({ pattern, action, label = null }): CustomFilter => ({ pattern, action, label }))

export const customFilters = z.array(customInput).max(maxFilters).superRefine(validatePatterns)

function validatePatterns(filters: CustomFilter[], context: z.RefinementCtx): void {
  const budget = new PatternBudget({ characters: maxPatternCharacters, size: maxPatternSize })
  for (const [index, { pattern }] of filters.entries()) {
    const message = budget.findProblem(pattern)
    if (message === null) continue
    context.addIssue({ code: 'custom', path: [index, 'pattern'], message })
    return
  }
}
