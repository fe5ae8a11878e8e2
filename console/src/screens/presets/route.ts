import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

export const presetsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/presets',
  validateSearch: readOffset,
}).lazy(() => import('./presets-screen.tsx').then(({ screen }) => screen))

interface PresetSearch {
  offset?: number
  /** The versions that are compared. */
  from?: number
  to?: number
}

export const presetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/presets/$slug',
  validateSearch: (search: Record<string, unknown>): PresetSearch => ({
    ...readOffset(search),
    ...(isVersion(search.from) && { from: search.from }),
    ...(isVersion(search.to) && { to: search.to }),
  }),
}).lazy(() => import('./preset-screen.tsx').then(({ screen }) => screen))

function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0
}
