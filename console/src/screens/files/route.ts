import { createRoute } from '@tanstack/react-router'
import { rootRoute } from '../../app/root-route.tsx'
import { readText } from '../../app/search-params.ts'
import { isPurpose, type Purpose } from './purposes.ts'

interface FileSearch extends IdSearch {
  purpose?: Purpose
}

interface IdSearch {
  /** The only record that is shown, or the container. */
  id?: string
}

function readId(search: Record<string, unknown>): IdSearch {
  const id = readText(search.id)
  return id ? { id } : {}
}

export const filesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/files',
  validateSearch: (search: Record<string, unknown>): FileSearch => ({
    ...readId(search),
    ...(isPurpose(search.purpose) && { purpose: search.purpose }),
  }),
}).lazy(() => import('./files-screen.tsx').then(({ screen }) => screen))

export const mediaRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/files/media',
  validateSearch: readId,
}).lazy(() => import('./media-screen.tsx').then(({ screen }) => screen))

export const containersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/files/containers',
  validateSearch: readId,
}).lazy(() => import('./containers-screen.tsx').then(({ screen }) => screen))
