import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { type ModelFilters, readFilters } from './filters.ts'

export const modelsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/models',
  validateSearch: (search): ModelFilters => readFilters(search),
}).lazy(() => import('./models-screen.tsx').then(({ screen }) => screen))

export const catalogEditsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/models/changes',
}).lazy(() => import('./edits-screen.tsx').then(({ screen }) => screen))

export const modelRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/models/$author/$slug',
}).lazy(() => import('./model-screen.tsx').then(({ screen }) => screen))
