import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readOffset } from '../../app/search-params.ts'

export const playgroundRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/playground',
  validateSearch: ({ model }): { model?: string } => (typeof model === 'string' && model ? { model } : {}),
}).lazy(() => import('./playground-screen.tsx').then(({ screen }) => screen))

export const comparisonsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/comparisons',
  validateSearch: readOffset,
}).lazy(() => import('./comparisons/comparisons-screen.tsx').then(({ screen }) => screen))

export const newComparisonRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/comparisons/new',
}).lazy(() => import('./comparisons/new-comparison-screen.tsx').then(({ screen }) => screen))

export const comparisonRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/comparisons/$id',
}).lazy(() => import('./comparisons/comparison-screen.tsx').then(({ screen }) => screen))
