import type { z } from 'zod'
import type { declaredEndpoint } from '../../catalog/declared-model.ts'
import type { modelOverride, ProviderOverride } from '../../catalog/override-schema.ts'
import type { ReasonFallbacks } from '../../formats/schema/fallbacks.ts'

/** What another gateway has, in the words of this one. Every source of an import is translated to it. */
export interface ImportPlan {
  catalog: CatalogPlan
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
  aliases: { name: string; models: string[] }[]
}

type ModelFields = z.input<typeof modelOverride>

/** A model with all of its endpoints. One that exists gets those that it lacks. */
export interface PlannedModel {
  id: string
  fields: Omit<ModelFields, 'endpoints'> & { endpoints: z.input<typeof declaredEndpoint>[] }
}

export interface SkippedItem {
  kind: string
  name: string
  /** A clause without a capital letter and a full stop. */
  reason: string
}

/** What happened to an item of the plan, or would happen. */
export interface ItemOutcome {
  kind: string
  name: string
  outcome: 'created' | 'existing' | 'skipped'
  /** Why it was skipped, or what is different about it. */
  message: string | null
}
