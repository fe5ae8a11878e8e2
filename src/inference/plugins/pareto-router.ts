import { selectPareto } from '../routers/pareto.ts'
import type { Plugin } from './plugin.ts'
import { noModelError, type Router, settingsOf } from './router.ts'
import { listRouterCandidates } from './router-candidates.ts'

export const paretoRouterPlugin: Plugin<'pareto-router'> = { id: 'pareto-router' }

export const paretoRouter: Router = {
  model: 'service/pareto-code',
  plugin: 'pareto-router',
  stage: 'pareto-router',
  strategy: 'pareto',
  route: async (context) => {
    const settings = settingsOf(context, 'pareto-router')
    const { min_coding_score, max_price, price_source = 'prompt' } = settings
    const unused = max_price === undefined ? 'price_source' : 'min_coding_score'
    if (settings[unused] !== undefined)
      context.work.dropSettings('pareto-router', [`plugins.pareto-router.${unused}`])
    const selection = selectPareto(await listRouterCandidates(context), {
      minCodingScore: min_coding_score ?? context.gateway.settings.routers.min_coding_score,
      maxPrice: max_price ?? null,
      priceSource: price_source,
      prefersSpeed: context.router.variants.includes('nitro'),
    })
    if (!selection)
      throw noModelError(context, 'Raise max_price of the plugin pareto-router, or name a model.')
    return { selection }
  },
}
