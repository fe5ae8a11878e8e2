import type { z } from 'zod'
import type { Environment } from '../config.ts'
import type { declaredModel, declaredProvider } from './declared.ts'
import type { Provider } from './provider.ts'

export interface Catalog {
  snapshotDate: string
  models: { id: string }[]
}

export interface CatalogSources {
  settings: { providers: z.output<typeof declaredProvider>[]; models: z.output<typeof declaredModel>[] }
  providers: Provider[]
  environment: Environment
}

export function buildCatalog(_sources: CatalogSources): Catalog {
  return { snapshotDate: '', models: [] }
}
