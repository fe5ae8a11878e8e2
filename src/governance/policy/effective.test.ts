import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { dataRegions } from '../../formats/vocabulary.ts'
import { detectorSlugs } from '../filters/detectors.ts'
import { buildContentRules } from './content-rules.ts'
import {
  computeEffectivePolicy,
  type EffectivePolicy,
  type Layer,
  type Layers,
  layerNames,
} from './effective.ts'
import {
  filterActions,
  type Guardrail,
  type GuardrailRow,
  parseGuardrail,
  scanScopes,
  scopedBuiltin,
  zdrGroups,
} from './guardrail.ts'

const blank: GuardrailRow = {
  id: 'g',
  organization_id: 'org',
  workspace_id: 'ws',
  name: 'Blank',
  description: null,
  limit_nanos: null,
  reset_interval: null,
  include_byok_in_budgets: 0,
  allowed_data_regions: null,
  allowed_models: null,
  ignored_models: null,
  allowed_providers: null,
  ignored_providers: null,
  content_filter_builtins: null,
  content_filters: null,
  enable_free_model_publication: null,
  enable_free_model_training: null,
  enable_paid_model_training: null,
  enforce_zdr: null,
  enforce_zdr_vendor_a: null,
  enforce_zdr_vendor_b: null,
  enforce_zdr_vendor_c: null,
  enforce_zdr_vendor_d: null,
  enforce_zdr_other: null,
  dry_run: 0,
  unscannable_content: null,
  moderation: null,
  external_checks: null,
  sealed_check_secrets: null,
  created_at: '2028-01-01T00:00:00.000Z',
  updated_at: '2028-01-01T00:00:00.000Z',
}

const guardrail = (rules: Partial<Guardrail>): Guardrail => ({ ...parseGuardrail(blank), ...rules })

describe('the effective policy', () => {
  test('without guardrails nothing is restricted', () => {
    const nothing = { value: false, layers: [] }
    expect(computeEffectivePolicy({})).toEqual({
      allowed_data_regions: { values: null, layers: [] },
      allowed_models: { values: null, layers: [] },
      allowed_providers: { values: null, layers: [] },
      ignored_models: [],
      ignored_providers: [],
      content_filter_builtins: [],
      content_filters: [],
      enable_free_model_publication: { value: null, layers: [] },
      enable_free_model_training: { value: null, layers: [] },
      enable_paid_model_training: { value: null, layers: [] },
      enforce_zdr: {
        vendor_a: nothing,
        vendor_b: nothing,
        vendor_c: nothing,
        vendor_d: nothing,
        other: nothing,
      },
      budgets: [],
      unscannable_content: { value: 'allow', layers: [] },
      moderation: [],
      external_checks: [],
      dry_run: null,
    })
  })

  test('allow-lists and regions intersect; null restricts nothing; layers that restrict are named', () => {
    const policy = computeEffectivePolicy({
      organization: guardrail({ allowed_models: ['a', 'b', 'c'], allowed_data_regions: ['us', 'global'] }),
      workspace: guardrail({ allowed_models: null }),
      key: guardrail({ allowed_models: ['c', 'b', 'x'], allowed_data_regions: ['us', 'europe'] }),
    })
    expect(policy.allowed_models).toEqual({ values: ['b', 'c'], layers: ['organization', 'key'] })
    expect(policy.allowed_data_regions).toEqual({ values: ['us'], layers: ['organization', 'key'] })
    expect(policy.allowed_providers).toEqual({ values: null, layers: [] })
  })

  test('E15 a model allowed in one layer and a variant of it in another leave that variant', () => {
    const { allowed_models } = computeEffectivePolicy({
      organization: guardrail({ allowed_models: ['a/one', 'a/two:free'] }),
      key: guardrail({ allowed_models: ['a/one:free', 'a/two', 'a/one-more'] }),
    })
    expect(allowed_models.values).toEqual(['a/one:free', 'a/two:free'])
  })

  test('an empty intersection allows nothing, which is not the same as everything', () => {
    const policy = computeEffectivePolicy({
      workspace: guardrail({ allowed_data_regions: ['us'] }),
      member: guardrail({ allowed_data_regions: ['europe'] }),
    })
    expect(policy.allowed_data_regions.values).toEqual([])
  })

  test('deny-lists are merged, each name with its layers', () => {
    const policy = computeEffectivePolicy({
      workspace: guardrail({ ignored_providers: ['p', 'q'] }),
      key: guardrail({ ignored_providers: ['q'] }),
    })
    expect(policy.ignored_providers).toEqual([
      { value: 'p', layers: ['workspace'] },
      { value: 'q', layers: ['workspace', 'key'] },
    ])
  })

  test('the lowest threshold counts, and a rule without one has the default', () => {
    const merge = (...thresholds: (number | undefined)[]) => {
      const [organization, member] = thresholds.map((threshold) =>
        guardrail({
          content_filter_builtins: [
            { slug: scopedBuiltin, action: 'flag', ...(threshold !== undefined && { threshold }) },
          ],
        }),
      )
      return computeEffectivePolicy({ ...(organization && { organization }), ...(member && { member }) })
        .content_filter_builtins[0]?.threshold
    }
    expect(merge(0.9, 0.7)).toBe(0.7)
    expect(merge(0.9, undefined)).toBe(0.5)
    expect(merge(0.3, undefined)).toBe(0.3)
    expect(merge(undefined, undefined)).toBeUndefined()
  })

  test('filters are merged with block > redact > flag, and the widest scan', () => {
    const policy = computeEffectivePolicy({
      organization: guardrail({
        content_filter_builtins: [{ slug: scopedBuiltin, action: 'flag', scan_scope: 'all_messages' }],
        content_filters: [{ pattern: 'x', action: 'redact', label: 'broad' }],
      }),
      member: guardrail({
        content_filter_builtins: [
          { slug: scopedBuiltin, action: 'block', scan_scope: 'user_only' },
          { slug: 'email', action: 'redact' },
        ],
        content_filters: [
          { pattern: 'x', action: 'block', label: 'strict' },
          { pattern: 'y', action: 'flag', label: null },
        ],
      }),
    })
    expect(policy.content_filter_builtins).toEqual([
      { slug: 'email', action: 'redact', scope: 'input', sources: [{ layer: 'member', action: 'redact' }] },
      {
        slug: scopedBuiltin,
        action: 'block',
        scope: 'input',
        scan_scope: 'all_messages',
        sources: [
          { layer: 'organization', action: 'flag' },
          { layer: 'member', action: 'block' },
        ],
      },
    ])
    expect(policy.content_filters).toEqual([
      {
        pattern: 'x',
        action: 'block',
        label: 'strict',
        scope: 'input',
        sources: [
          { layer: 'organization', action: 'redact' },
          { layer: 'member', action: 'block' },
        ],
      },
      {
        pattern: 'y',
        action: 'flag',
        label: null,
        scope: 'input',
        sources: [{ layer: 'member', action: 'flag' }],
      },
    ])
  })

  test('values are restored only if every layer that redacts them says so, and only those of prompts', () => {
    const redact = (more: object) =>
      guardrail({
        content_filter_builtins: [{ slug: 'email', action: 'redact', ...more }],
        content_filters: [{ pattern: 'x', action: 'redact', label: null, ...more }],
      })
    const combine = (layers: Layers) => {
      const policy = computeEffectivePolicy(layers)
      const filters = [...policy.content_filter_builtins, ...policy.content_filters]
      const rules = buildContentRules(policy, [])
      expect(rules?.isReversible).toBe(filters.some(({ reversible }) => reversible))
      // What no provider receives is never restored.
      expect(rules?.labels?.rules.builtins.some(({ reversible }) => reversible)).toBe(false)
      return filters.map(({ scope, reversible = false }) => `${scope} ${reversible}`)
    }
    const reversible = redact({ reversible: true })
    const flag = guardrail({ content_filter_builtins: [{ slug: 'email', action: 'flag' }] })
    expect(combine({ workspace: reversible, key: flag })).toEqual(['input true', 'input true'])
    expect(combine({ workspace: reversible, key: reversible })).toEqual(['input true', 'input true'])
    expect(combine({ workspace: reversible, key: redact({}) })).toEqual(['input false', 'input false'])
    expect(combine({ workspace: redact({}), key: reversible })).toEqual(['input false', 'input false'])
    expect(combine({ key: redact({ reversible: true, scope: 'both' }) })).toEqual([
      ...['input true', 'output false'],
      ...['input true', 'output false'],
    ])
  })

  test('filters of both sides apply to each side, and each side has its own strictest action', () => {
    const { content_filter_builtins } = computeEffectivePolicy({
      workspace: guardrail({ content_filter_builtins: [{ slug: 'email', action: 'flag', scope: 'both' }] }),
      key: guardrail({ content_filter_builtins: [{ slug: 'email', action: 'block', scope: 'output' }] }),
    })
    expect(content_filter_builtins.map(({ scope, action }) => [scope, action])).toEqual([
      ['input', 'flag'],
      ['output', 'block'],
    ])
  })

  test('a guardrail in dry run enforces nothing; its rules are listed apart', () => {
    const policy = computeEffectivePolicy({
      workspace: guardrail({ dry_run: true, allowed_models: ['a/b'], unscannable_content: 'block' }),
      key: guardrail({ ignored_models: ['c/d'] }),
    })
    expect(policy.allowed_models.values).toBeNull()
    expect(policy.unscannable_content).toEqual({ value: 'allow', layers: [] })
    expect(policy.dry_run?.allowed_models).toEqual({ values: ['a/b'], layers: ['workspace'] })
    expect(policy.dry_run?.unscannable_content).toEqual({ value: 'block', layers: ['workspace'] })
    expect(policy.dry_run?.ignored_models).toEqual([])
  })

  test('zero data retention is OR for each vendor, with the deprecated field as fallback', () => {
    const fallback = parseGuardrail({ ...blank, enforce_zdr: 1, enforce_zdr_vendor_b: 0 })
    const policy = computeEffectivePolicy({
      workspace: fallback,
      key: guardrail({ enforce_zdr_vendor_a: false }),
    })
    expect(policy.enforce_zdr.vendor_a).toEqual({ value: true, layers: ['workspace'] })
    expect(policy.enforce_zdr.vendor_b).toEqual({ value: false, layers: [] })
    expect(policy.enforce_zdr.other).toEqual({ value: true, layers: ['workspace'] })
  })

  test('for the switches an explicit false wins; without any value it is null', () => {
    const policy = computeEffectivePolicy({
      organization: guardrail({ enable_paid_model_training: true, enable_free_model_training: true }),
      workspace: guardrail({ enable_paid_model_training: false }),
      key: guardrail({ enable_paid_model_training: true }),
    })
    expect(policy.enable_paid_model_training).toEqual({ value: false, layers: ['workspace'] })
    expect(policy.enable_free_model_training).toEqual({ value: true, layers: ['organization'] })
    expect(policy.enable_free_model_publication).toEqual({ value: null, layers: [] })
  })

  test('budgets are independent; only the one of a member counts all its keys', () => {
    const budget = { limit_nanos: 5n, reset_interval: 'daily' as const }
    const { budgets } = computeEffectivePolicy({
      organization: guardrail({ id: 'o', ...budget }),
      workspace: guardrail({ id: 'w', reset_interval: 'daily' }),
      member: guardrail({ id: 'm', ...budget, include_byok_in_budgets: true }),
      key: guardrail({ id: 'k', limit_nanos: 5n, reset_interval: null }),
    })
    expect(budgets.map(({ layer, guardrail_id, scope }) => [layer, guardrail_id, scope])).toEqual([
      ['organization', 'o', 'key'],
      ['member', 'm', 'member'],
      ['key', 'k', 'key'],
    ])
    expect(budgets[1]).toMatchObject({ ...budget, include_byok_in_budgets: true })
  })
})

describe('invariants of the effective policy', () => {
  test('an allow-list allows exactly what every layer that has one allows', () => {
    fc.assert(
      fc.property(someLayers, (layers) => {
        const { values } = computeEffectivePolicy(layers).allowed_models
        const lists = present(layers).flatMap((rules) => (rules.allowed_models ? [rules.allowed_models] : []))
        expect(values === null).toBe(lists.length === 0)
        for (const name of modelNames) {
          expect(values?.includes(name) ?? true).toBe(lists.every((list) => list.includes(name)))
        }
      }),
    )
  })

  test('a deny-list denies exactly what any layer denies, and names those layers', () => {
    fc.assert(
      fc.property(someLayers, (layers) => {
        const denied = new Map(
          computeEffectivePolicy(layers).ignored_models.map((item) => [item.value, item.layers]),
        )
        for (const name of modelNames) {
          const naming = layerNames.filter((layer) => layers[layer]?.ignored_models?.includes(name))
          expect(denied.get(name) ?? []).toEqual(naming)
        }
      }),
    )
  })

  test('the layer of a rule changes the reported name, never the enforcement', () => {
    fc.assert(
      fc.property(someLayers, fc.shuffledSubarray([...layerNames], { minLength: 4 }), (layers, order) => {
        const shuffled = Object.fromEntries(
          order.map((layer, at) => [layer, layers[layerNames[at] as Layer]]),
        )
        expect(enforcedBy(computeEffectivePolicy(shuffled))).toEqual(
          enforcedBy(computeEffectivePolicy(layers)),
        )
      }),
    )
  })

  test('the same guardrail on two layers enforces the same as on one, except for budgets', () => {
    fc.assert(
      fc.property(someGuardrail, (rules) => {
        const once = enforcedBy(computeEffectivePolicy({ key: rules }))
        const twice = enforcedBy(computeEffectivePolicy({ key: rules, workspace: rules }))
        expect({ ...twice, budgets: [] }).toEqual({ ...once, budgets: [] })
      }),
    )
  })

  test('a further layer never allows more', () => {
    fc.assert(
      fc.property(someLayers, fc.constantFrom(...layerNames), (layers, added) => {
        const before = computeEffectivePolicy({ ...layers, [added]: undefined })
        expectNoMore(computeEffectivePolicy(layers), before)
      }),
    )
  })

  test('every guardrail that applies is enforced, whatever the others contain', () => {
    fc.assert(
      fc.property(someLayers, fc.constantFrom(...layerNames), (layers, one) => {
        expectNoMore(computeEffectivePolicy(layers), computeEffectivePolicy({ [one]: layers[one] }))
      }),
    )
  })
})

const modelNames = ['m1', 'm2', 'm3', 'm4']
const names = (from: readonly string[]) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...from), { minLength: 1 }), { nil: null })
const choice = fc.constantFrom(true, false, null)
const action = fc.constantFrom(...filterActions)

const someGuardrail: fc.Arbitrary<Guardrail> = fc
  .record({
    limit_nanos: fc.option(fc.bigInt({ min: 1n, max: 9n }), { nil: null }),
    include_byok_in_budgets: fc.boolean(),
    allowed_data_regions: fc.option(fc.uniqueArray(fc.constantFrom(...dataRegions), { minLength: 1 }), {
      nil: null,
    }),
    allowed_models: names(modelNames),
    ignored_models: names(modelNames),
    allowed_providers: names(['p1', 'p2']),
    ignored_providers: names(['p1', 'p2']),
    content_filter_builtins: fc.option(
      fc.uniqueArray(
        fc.record({
          slug: fc.constantFrom(...detectorSlugs),
          action,
          scan_scope: fc.constantFrom(...scanScopes),
        }),
        { selector: ({ slug }) => slug },
      ),
      { nil: null },
    ),
    content_filters: fc.option(
      fc.array(fc.record({ pattern: fc.constantFrom('x', 'y'), action, label: fc.constant(null) })),
      { nil: null },
    ),
    enable_free_model_publication: choice,
    enable_free_model_training: choice,
    enable_paid_model_training: choice,
    enforce_zdr_vendor_a: choice,
    enforce_zdr_vendor_d: choice,
    enforce_zdr_other: choice,
  })
  .map((rules) => guardrail({ ...rules, reset_interval: rules.limit_nanos === null ? null : 'daily' }))

const someLayers: fc.Arbitrary<Layers> = fc.record({
  organization: fc.option(someGuardrail, { nil: undefined }),
  workspace: fc.option(someGuardrail, { nil: undefined }),
  member: fc.option(someGuardrail, { nil: undefined }),
  key: fc.option(someGuardrail, { nil: undefined }),
})

function present(layers: Layers): Guardrail[] {
  return layerNames.flatMap((layer) => layers[layer] ?? [])
}

const switches = [
  'enable_free_model_publication',
  'enable_free_model_training',
  'enable_paid_model_training',
] as const
const allowLists = ['allowed_data_regions', 'allowed_models', 'allowed_providers'] as const
const denyLists = ['ignored_models', 'ignored_providers'] as const

/** The policy without the names of layers. */
function enforcedBy(policy: EffectivePolicy) {
  return {
    allowed: allowLists.map((field) => policy[field].values),
    denied: denyLists.map((field) => policy[field].map(({ value }) => value)),
    builtins: policy.content_filter_builtins.map(({ sources: _, ...filter }) => filter),
    filters: policy.content_filters.map(({ sources: _, ...filter }) => filter),
    switches: switches.map((field) => policy[field].value),
    zdr: zdrGroups.map((group) => policy.enforce_zdr[group].value),
    budgets: policy.budgets.map(({ limit_nanos }) => limit_nanos).sort(),
  }
}

function expectNoMore(after: EffectivePolicy, before: EffectivePolicy): void {
  for (const field of allowLists) {
    const was: string[] | null = before[field].values
    if (was !== null) expect(was).toEqual(expect.arrayContaining(after[field].values ?? ['everything']))
  }
  const [now, then] = [enforcedBy(after), enforcedBy(before)]
  for (const [at, list] of then.denied.entries()) {
    expect(now.denied[at]).toEqual(expect.arrayContaining(list))
  }
  for (const filter of then.builtins) {
    const same = now.builtins.find(({ slug }) => slug === filter.slug)!
    expect(filterActions.indexOf(same.action)).toBeGreaterThanOrEqual(filterActions.indexOf(filter.action))
    expect(scanScopes.indexOf(same.scan_scope!)).toBeGreaterThanOrEqual(
      scanScopes.indexOf(filter.scan_scope!),
    )
  }
  for (const filter of then.filters) {
    const same = now.filters.find(({ pattern }) => pattern === filter.pattern)!
    expect(filterActions.indexOf(same.action)).toBeGreaterThanOrEqual(filterActions.indexOf(filter.action))
  }
  for (const [at, value] of then.switches.entries()) if (value === false) expect(now.switches[at]).toBe(false)
  for (const [at, value] of then.zdr.entries()) if (value) expect(now.zdr[at]).toBe(true)
  for (const budget of before.budgets) expect(after.budgets).toContainEqual(budget)
}

test('of the filters of replies only those that block or redact, and are enforced, can change one', () => {
  const policy = computeEffectivePolicy({
    workspace: guardrail({
      dry_run: true,
      content_filter_builtins: [{ slug: 'email', action: 'block', scope: 'output' }],
    }),
    key: guardrail({
      content_filter_builtins: [
        { slug: 'phone', action: 'redact', scope: 'both' },
        { slug: 'regex-prompt-injection', action: 'flag', scope: 'output', scan_scope: 'user_only' },
      ],
    }),
  })
  const output = buildContentRules(policy, [])?.output
  expect(output?.enforced?.rules.builtins).toMatchObject([{ slug: 'phone', action: 'redact' }])
  expect(output?.recorded?.rules.builtins).toMatchObject([
    { slug: 'regex-prompt-injection', isEnforced: true },
    { slug: 'email', isEnforced: false },
  ])
  // It selects messages of a prompt; a reply is always read.
  expect(JSON.stringify(output)).not.toContain('scan_scope')
})
