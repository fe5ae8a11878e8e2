import type { SearchEngine } from '../../../formats/schema/search-engine.ts'
import { exa } from './exa.ts'
import { firecrawl } from './firecrawl.ts'
import { parallel } from './parallel.ts'
import { perplexity } from './perplexity.ts'
import { sandbox } from './sandbox.ts'
import { searxng } from './searxng.ts'

/** Engines by preference: the default is the first that has a key or an address, unless the operator sets one. */
export const searchEngines: readonly SearchEngine[] = [exa, parallel, perplexity, firecrawl, searxng, sandbox]

export function findSearchEngine(id: string): SearchEngine | undefined {
  return searchEngines.find((engine) => engine.id === id)
}
