import { createRoute, redirect } from '@tanstack/react-router'
import { rootRoute } from './root-route.tsx'

/** Earlier paths of screens, which bookmarks and messages still have. More specific paths come first. */
const moved = {
  '/catalogue/edits': '/models/changes',
  '/catalogue': '/models',
  '/destinations': '/observability',
  '/settings': '/organization',
}

/** Redirects from earlier paths, with what followed them. */
export const movedRoutes = Object.entries(moved).flatMap(([from, to]) =>
  [from, `${from}/$`].map((path) =>
    createRoute({
      getParentRoute: () => rootRoute,
      path,
      // The new screen checks it.
      validateSearch: (search: Record<string, unknown>) => search,
      beforeLoad: ({ location }) => {
        throw redirect({
          to: to + location.pathname.slice(from.length),
          search: location.search as Record<string, unknown>,
          hash: location.hash,
          replace: true,
        })
      },
    }),
  ),
)
