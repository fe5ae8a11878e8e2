import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ButtonLink } from '../../components/button-link.tsx'
import { Page } from '../../components/page.tsx'
import { type Change, hasChange, noChange } from './change.ts'
import { ChangeForm } from './change-form.tsx'
import { Defaults } from './defaults.tsx'
import { RequestList } from './request-list.tsx'
import { readStored, type SavedRequest } from './request-set.ts'
import { Results } from './results.tsx'
import { useComparison } from './use-comparison.ts'

export const screen = createLazyRoute('/routing')({ component: RoutingScreen })

const exampleCall = {
  method: 'POST',
  path: '/quote',
  body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
}

function RoutingScreen() {
  const session = useSession()
  const [stored, setStored] = useLocalStorage<SavedRequest[]>({
    key: 'headgate-routing-requests',
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  const requests = readStored(stored)
  const [change, setChange] = useState<Change>(noChange)
  const version = useChosenVersion(change)
  const { comparison, done, run } = useComparison()
  const isReady = requests.length > 0 && (change.preset === null || version !== null)
  const isStale = comparison !== null && comparison.change !== change
  const [first] = requests
  const call = first
    ? { ...exampleCall, body: first.body, ...(first.format && { query: { format: first.format } }) }
    : exampleCall
  return (
    <Page
      title="Routing"
      docs="routing"
      scope="one"
      description="Shows which endpoints would serve your requests, at what price, and the effect of a change. Nothing is sent or charged."
      calls={[call]}
      actions={
        <>
          {mayDo(session, 'shadows:read') && <ButtonLink to="/shadows">Shadow mode</ButtonLink>}
          {mayDo(session, 'routing_rules:read') && <ButtonLink to="/routing/rules">Routing rules</ButtonLink>}
        </>
      }
    >
      <Stack>
        <RequestList requests={requests} onChange={setStored} />
        <ChangeForm change={change} onChange={setChange} />
        <Group>
          <Button
            disabled={!isReady}
            loading={done !== null}
            onClick={() => void run(requests, change, version)}
          >
            {hasChange(change) ? 'Compare before and after' : 'Show where they would go'}
          </Button>
          {isStale && (
            <Text size="sm" role="status">
              The change was edited. Compare again.
            </Text>
          )}
        </Group>
        {done !== null && (
          <Progress
            value={(100 * done) / Math.max(1, requests.length)}
            aria-label="Requests that are compared"
          />
        )}
        {comparison && <Results comparison={comparison} />}
        <Defaults />
      </Stack>
    </Page>
  )
}

/** The version of the preset that is tried; null if there is none, or until it is there. */
function useChosenVersion({ preset }: Change) {
  const query = useQuery({
    ...api.queryOptions('get', '/presets/{slug}/versions/{version}', {
      params: { path: { slug: preset?.slug ?? '', version: String(preset?.version ?? '') } },
    }),
    enabled: preset !== null && preset.version !== null,
  })
  return (preset?.version && query.data?.data) || null
}
