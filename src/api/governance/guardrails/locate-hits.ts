import type { z } from 'zod'
import type { ModelCall } from '../../../formats/call/call.ts'
import { collectTexts } from '../../../formats/call/texts.ts'
import { nameCustomRule } from '../../../governance/filters/filter-set.ts'
import type { FilterRules } from '../../../governance/filters/rules.ts'
import type { ContentScanner, RuleSet } from '../../../governance/filters/scanner.ts'
import { describeHit, type hitRecord } from '../../../governance/guardrail-hits.ts'
import type { GuardrailHit } from '../../../governance/policy/content-rules.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'

const maxHits = 1000
const maxPositions = 100
/** Rules with a hit that are located: each is a scan of its own. */
const maxLocatedRules = 20

type LocatedHit = z.input<typeof hitRecord> & {
  message: number | null
  positions: { start: number; end: number }[]
}

/** The hits of a request with their places; those of rules that are not about texts have none. */
export async function locateHits(
  scanner: ContentScanner,
  rules: RuleSet | null,
  call: ModelCall,
  hits: readonly GuardrailHit[],
): Promise<LocatedHit[]> {
  const located: LocatedHit[] = []
  const groups = Map.groupBy(hits, ({ rule, isEnforced }) => JSON.stringify([rule, isEnforced]))
  let scans = 0
  for (const group of groups.values()) {
    const [first] = group
    const single = first && rules && scans < maxLocatedRules ? selectRule(rules.rules, first) : null
    if (single) scans++
    const places = single && first ? await findPlaces(scanner, single, call, first) : []
    located.push(...(places.length > 0 ? places : group.map(toUnlocated)))
    if (located.length >= maxHits) break
  }
  return located.slice(0, maxHits)
}

/** The rule of a hit alone, redacting, so that a scan returns its matches. */
function selectRule(rules: FilterRules, { rule, isEnforced }: GuardrailHit): RuleSet | null {
  const traits = { action: 'redact' as const, isEnforced: true }
  const builtins = rules.builtins
    .filter((builtin) => builtin.slug === rule && builtin.isEnforced === isEnforced)
    .map((builtin) => ({ ...builtin, ...traits }))
  const customs = rules.customs
    .filter((custom) => nameCustomRule(custom) === rule && custom.isEnforced === isEnforced)
    .map((custom) => ({ ...custom, ...traits }))
  if (builtins.length + customs.length === 0) return null
  const single = { ...rules, builtins, customs }
  return { key: sha256(JSON.stringify(single)), rules: single }
}

async function findPlaces(
  scanner: ContentScanner,
  rules: RuleSet,
  call: ModelCall,
  hit: GuardrailHit,
): Promise<LocatedHit[]> {
  const texts = collectTexts(call)
  const results = await scanner.scan(rules, texts)
  return results.flatMap(({ hits, redactions }, index) => {
    const place = texts[index]?.place
    if (!place || redactions.length === 0) return []
    const located = {
      ...toUnlocated(hit),
      ...{ part: place.part, role: place.role, message: place.message, count: redactions.length },
      kinds: [...new Set(hits.flatMap(({ kinds }) => kinds))],
      positions: redactions.slice(0, maxPositions).map(({ start, end }) => ({ start, end })),
    }
    return [located]
  })
}

function toUnlocated(hit: GuardrailHit): LocatedHit {
  return { ...describeHit(hit), message: null, positions: [] }
}
