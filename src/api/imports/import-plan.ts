import type { z } from 'zod'
import type { declaredEndpoint } from '../../catalog/declared-model.ts'
import type { modelOverride, ProviderOverride } from '../../catalog/override-schema.ts'
import type { Split } from '../../catalog/split.ts'
import type { ReasonFallbacks } from '../../formats/schema/fallbacks.ts'
import type { LimitDimension, LimitMeasure, LimitWindow } from '../../governance/limits/limit-rule.ts'
import type { LimitReset, PresetFormat } from '../../platform/db/schema.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ImportedKey } from '../identity/keys/imported-key.ts'

/** What another gateway has, in the words of this one. Every source of an import is translated to it. */
export interface ImportPlan {
  catalog: CatalogPlan
  accounts: AccountPlan
  policies?: PolicyPlan
  /** What is not imported, and why. */
  skipped: SkippedItem[]
}

export interface CatalogPlan {
  /** Providers that are created, or that get a key. */
  providers: { slug: string; fields: ProviderOverride }[]
  models: PlannedModel[]
  /** Names that the catalog has already, and its ids for them. */
  known: { name: string; id: string }[]
  /** Fallbacks of models that other sources declare. */
  fallbacks: { model: string; fallbacks: ReasonFallbacks }[]
  /** Names of the organization for models. */
  aliases: PlannedAlias[]
}

export interface PlannedAlias {
  name: string
  models: string[]
  /** How requests are divided among the models. */
  split?: Split
}

type ModelFields = z.input<typeof modelOverride>

/** A model with all of its endpoints. One that exists gets those that it lacks. */
export interface PlannedModel {
  id: string
  fields: Omit<ModelFields, 'endpoints'> & { endpoints: z.input<typeof declaredEndpoint>[] }
}

/** Who may spend what, and what was spent. */
export interface AccountPlan {
  workspaces: PlannedWorkspace[]
  members: PlannedMember[]
  keys: PlannedKey[]
  limits: PlannedLimit[]
  blockedEndUsers: string[]
}

/** Records that the other gateway keeps in the form of this one's API. */
export interface PolicyPlan {
  guardrails: PlannedGuardrail[]
  presets: PlannedPreset[]
}

export interface PlannedGuardrail {
  name: string
  /** The slug of a workspace; null: the default one. */
  workspace: string | null
  /** Fields of a request that creates one. */
  fields: JsonObject
  /** The hashes of the keys it is assigned to. */
  keys: string[]
}

export interface PlannedPreset {
  slug: string
  name: string | null
  description: string | null
  isDisabled: boolean
  format: PresetFormat
  config: JsonObject
  systemPrompt: string | null
}

/** Dollars in a window; null: in all time. */
export interface PlannedBudget {
  amount: bigint
  reset: LimitReset | null
}

export interface PlannedWorkspace {
  slug: string
  name: string
  budget: PlannedBudget | null
  /** Nano-dollars in the present window. */
  spend: bigint
  /** Names of the only models that its requests may use; null: all. */
  models: string[] | null
}

export interface PlannedMember {
  email: string
  budget: PlannedBudget | null
  spend: bigint
  /** Slugs of workspaces besides the default one. */
  workspaces: string[]
}

export interface PlannedKey {
  key: ImportedKey & { hash: string }
  models: string[] | null
}

export interface PlannedLimit {
  name: string
  measure: LimitMeasure
  window: LimitWindow | null
  /** US dollars, or a count. */
  amount: number
  match: {
    /** The slug of a workspace. */
    workspace?: string
    /** The e-mail address of a member. */
    member?: string
    keyHash?: string
    endUser?: string
    tag?: string
    models?: string[]
    providers?: string[]
  }
  /** What is counted separately. */
  per?: LimitDimension[]
  /** Nano-dollars in the present window. */
  spend: bigint
}

export const noCatalog: CatalogPlan = { providers: [], models: [], known: [], fallbacks: [], aliases: [] }

export const noAccounts: AccountPlan = {
  workspaces: [],
  members: [],
  keys: [],
  limits: [],
  blockedEndUsers: [],
}

export interface SkippedItem {
  kind: string
  name: string
  /** A clause without a capital letter and a full stop. */
  reason: string
  /** It can be imported with the secret of the other gateway. */
  needsSecret?: true
}

/** What happened to an item of the plan, or would happen. */
export interface ItemOutcome {
  kind: string
  name: string
  outcome: 'created' | 'updated' | 'existing' | 'skipped'
  /** Why it was skipped, or what is different about it. */
  message: string | null
}
