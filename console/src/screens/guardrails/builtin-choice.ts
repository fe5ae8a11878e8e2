import type { BuiltinFilter, FilterAction } from './draft.ts'

export type Slug = BuiltinFilter['slug']
export type Side = 'input' | 'output'

export function findBuiltin(filters: BuiltinFilter[], slug: Slug, side: Side): BuiltinFilter | undefined {
  return filters.find((filter) => filter.slug === slug && reads(filter, side))
}

function reads({ scope = 'input' }: BuiltinFilter, side: Side): boolean {
  return scope === 'both' || scope === side
}

/** Sets what is done with a kind of content on one side; null turns it off. The other side stays as it is. */
export function setBuiltin(
  filters: BuiltinFilter[],
  slug: Slug,
  side: Side,
  action: FilterAction | null,
): BuiltinFilter[] {
  const before = {
    input: findBuiltin(filters, slug, 'input'),
    output: findBuiltin(filters, slug, 'output'),
  }
  const input = side === 'input' ? action : (before.input?.action ?? null)
  const output = side === 'output' ? action : (before.output?.action ?? null)
  const scan = before.input?.scan_scope
  const threshold = before.input?.threshold ?? before.output?.threshold
  const any = { slug, ...(threshold !== undefined && { threshold }) }
  // Values are restored only where they were redacted.
  const isReversible = input === 'redact' && before.input?.reversible
  const prompts = { ...any, ...(scan && { scan_scope: scan }), ...(isReversible && { reversible: true }) }
  const own: BuiltinFilter[] =
    input !== null && input === output
      ? [{ ...prompts, action: input, scope: 'both' }]
      : [
          ...(input === null ? [] : [{ ...prompts, action: input }]),
          ...(output === null ? [] : [{ ...any, action: output, scope: 'output' as const }]),
        ]
  const at = filters.findIndex((filter) => filter.slug === slug)
  const others = filters.filter((filter) => filter.slug !== slug)
  return at === -1 ? [...others, ...own] : others.toSpliced(at, 0, ...own)
}

/** Sets which messages of a prompt are read. */
export function setScanScope(
  filters: BuiltinFilter[],
  slug: Slug,
  scan_scope: NonNullable<BuiltinFilter['scan_scope']>,
): BuiltinFilter[] {
  return filters.map((filter) =>
    filter.slug === slug && reads(filter, 'input') ? { ...filter, scan_scope } : filter,
  )
}

/** Sets the score from which a text counts; null for the default. */
export function setThreshold(
  filters: BuiltinFilter[],
  slug: Slug,
  threshold: number | null,
): BuiltinFilter[] {
  return filters.map((filter) => {
    if (filter.slug !== slug) return filter
    const { threshold: _before, ...rest } = filter
    return threshold === null ? rest : { ...rest, threshold }
  })
}

/** Sets whether what was redacted in prompts is restored in their replies. */
export function setReversible(filters: BuiltinFilter[], slug: Slug, reversible: boolean): BuiltinFilter[] {
  return filters.map((filter) => {
    if (filter.slug !== slug || !reads(filter, 'input')) return filter
    const { reversible: _, ...rest } = filter
    return reversible ? { ...rest, reversible } : rest
  })
}
