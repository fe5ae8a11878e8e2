import { Alert, Center, Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute, useLocation } from '@tanstack/react-router'
import { decodePrompt, type SharedPrompt } from '../../components/playground-link.ts'
import { Playground } from './playground.tsx'

export const screen = createLazyRoute('/playground')({ component: PlaygroundScreen })

/** A model that needs no provider. */
const firstModel = 'sandbox/echo'

/** Begins with the prompt of a link, with a model, or with neither. */
function PlaygroundScreen() {
  const { model } = screen.useSearch()
  const { hash } = useLocation()
  const link = useQuery({
    queryKey: ['playground link', hash],
    queryFn: () => decodePrompt(hash),
    enabled: hash !== '',
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (link.isLoading) {
    return (
      <Center>
        <Loader aria-label="Loading" />
      </Center>
    )
  }
  const empty: SharedPrompt = { models: [model ?? firstModel], draft: '', settings: {}, messages: [] }
  return (
    <>
      {hash !== '' && link.data === null && (
        <Alert color="orange" mb="md" role="status">
          The link is incomplete. Ask for a new one.
        </Alert>
      )}
      <Playground key={`${hash} ${model}`} prompt={link.data ?? empty} />
    </>
  )
}
