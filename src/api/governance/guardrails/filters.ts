import { z } from 'zod'
import { directionsOf } from '../../../governance/policy/effective.ts'
import {
  type BuiltinFilter,
  type CustomFilter,
  type FilterAction,
  type FilterScope,
  scopedBuiltin,
} from '../../../governance/policy/guardrail.ts'
import { estimateProgramSize, PatternBudget } from '../../../platform/text/pattern.ts'
import { ifThen } from '../../../platform/validation/schema-rules.ts'
import {
  builtinSlug,
  filterAction,
  filterScope,
  injectionThreshold,
  reversible,
  scanScope,
} from './record.ts'

const maxLabelLength = 100
const maxFilters = 100

/**
 * Limits for all patterns of one guardrail together, as for a single one: every message is matched against all of them.
 */
const maxPatternCharacters = 100_000
const maxPatternSize = 110_000

/** Limit for the patterns of replies together, which run on every piece of a stream. */
const maxReplyPatternSize = 2000

interface ReversibleFilter {
  action: FilterAction
  scope?: FilterScope | undefined
  reversible?: boolean | undefined
}

/** What a reversible filter requires, as a refinement. */
const isRedacting = ({ action, reversible }: ReversibleFilter) => !reversible || action === 'redact'
const readsPrompts = ({ scope, reversible }: ReversibleFilter) => !reversible || scope !== 'output'
const redactingProblem = { path: ['reversible'], error: 'requires the action redact' }
const promptsProblem = {
  path: ['reversible'],
  error: 'restores values of prompts: it cannot be combined with the scope output',
}
const ifReversible = { required: ['reversible'], properties: { reversible: { const: true } } }
const redactsPrompts = { action: { const: 'redact' }, scope: { not: { const: 'output' } } }

const builtinInput = z
  .strictObject({
    slug: builtinSlug,
    action: filterAction,
    scan_scope: scanScope
      .optional()
      .describe(`Only for ${scopedBuiltin}, for prompts. Defaults to all_messages.`),
    scope: filterScope.optional(),
    threshold: injectionThreshold.optional(),
    reversible: reversible.optional(),
    label: z.string().max(maxLabelLength).optional().meta({ deprecated: true, description: 'Ignored.' }),
  })
  .refine(({ slug, scan_scope }) => scan_scope === undefined || slug === scopedBuiltin, {
    path: ['scan_scope'],
    error: `is only for ${scopedBuiltin}`,
  })
  .refine(({ slug, threshold }) => threshold === undefined || slug === scopedBuiltin, {
    path: ['threshold'],
    error: `is only for ${scopedBuiltin}`,
  })
  .refine(({ scope, scan_scope }) => scan_scope === undefined || scope !== 'output', {
    path: ['scan_scope'],
    error: 'selects messages of prompts: it cannot be combined with the scope output',
  })
  .refine(isRedacting, redactingProblem)
  .refine(readsPrompts, promptsProblem)
  .refine(({ slug, reversible }) => !reversible || slug !== scopedBuiltin, {
    path: ['reversible'],
    error: `is not for ${scopedBuiltin}`,
  })
  .meta({
    override: {
      allOf: [
        ifThen(
          { required: ['scan_scope'] },
          { properties: { slug: { const: scopedBuiltin }, scope: { not: { const: 'output' } } } },
        ),
        ifThen({ required: ['threshold'] }, { properties: { slug: { const: scopedBuiltin } } }),
        ifThen(ifReversible, { properties: { ...redactsPrompts, slug: { not: { const: scopedBuiltin } } } }),
      ],
    },
  })
  .transform(({ slug, action, scan_scope = 'all_messages', scope, threshold, reversible }): BuiltinFilter => {
    const isScoped = slug === scopedBuiltin && scope !== 'output'
    return {
      slug,
      action,
      ...(isScoped && { scan_scope }),
      ...(scope && { scope }),
      ...(threshold !== undefined && { threshold }),
      ...(reversible && { reversible }),
    }
  })

export const builtinFilters = z
  .array(builtinInput)
  .max(maxFilters)
  .superRefine((filters, context) => {
    const sides = new Set<string>()
    for (const [index, { slug, scope }] of filters.entries()) {
      const own = directionsOf(scope).map((direction) => `${slug} ${direction}`)
      if (own.some((side) => sides.has(side))) {
        context.addIssue({ code: 'custom', path: [index, 'slug'], message: `${slug} is sent twice` })
      }
      for (const side of own) sides.add(side)
    }
  })
  .describe('Each slug at most once for prompts, and once for replies.')

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
    scope: filterScope.optional(),
    reversible: reversible.optional(),
  })
  .refine(isRedacting, redactingProblem)
  .refine(readsPrompts, promptsProblem)
  .meta({ override: ifThen(ifReversible, { properties: redactsPrompts }) })
  .transform(
    ({ pattern, action, label = null, scope, reversible }): CustomFilter => ({
      pattern,
      action,
      label,
      ...(scope && { scope }),
      ...(reversible && { reversible }),
    }),
  )

export const customFilters = z.array(customInput).max(maxFilters).superRefine(validatePatterns)

function validatePatterns(filters: CustomFilter[], context: z.RefinementCtx): void {
  const budget = new PatternBudget({ characters: maxPatternCharacters, size: maxPatternSize })
  let replySize = 0
  for (const [index, { pattern, scope }] of filters.entries()) {
    if (directionsOf(scope).includes('output')) replySize += estimateProgramSize(pattern)
    const message = budget.findProblem(pattern) ?? (replySize > maxReplyPatternSize ? replySizeProblem : null)
    if (message === null) continue
    context.addIssue({ code: 'custom', path: [index, 'pattern'], message })
    return
  }
}

const replySizeProblem = `the patterns with scope output or both exceed their maximum total size of ${maxReplyPatternSize}; simplify or remove some, or use the scope input`
