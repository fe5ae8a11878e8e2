import { Alert, Button, Group, Stack, Switch, Table, Text, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ButtonLink } from '../../components/button-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextDiff } from '../../components/text-diff.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatCount } from '../../format/number.ts'
import { type ComparedField, type ComparedRequest, compareFields } from './compare-fields.ts'
import { compareTexts } from './compare-texts.ts'
import { textsOf } from './texts.ts'

export const screen = createLazyRoute('/requests/compare')({ component: CompareScreen })

function CompareScreen() {
  const { one, other } = screen.useSearch()
  if (one === undefined || other === undefined) {
    return (
      <Page title="Compare requests">
        <EmptyState title="Two requests are needed">
          <Stack align="center" gap="sm">
            <span>Open a request, choose Compare and then the other one.</span>
            <ButtonLink to="/requests">Open Requests</ButtonLink>
          </Stack>
        </EmptyState>
      </Page>
    )
  }
  return <Comparison key={`${one} ${other}`} ids={[one, other]} />
}

type Ids = [one: string, other: string]

function useRequest(id: string) {
  const listed = api.queryOptions('get', '/generations', { params: { query: { id, limit: 1 } } })
  const explained = api.queryOptions('get', '/generation/explanation', { params: { query: { id } } })
  const summary = useQuery(listed)
  const explanation = useQuery(explained)
  const request = summary.data?.data[0]
  const error = summary.error ?? explanation.error
  const isMissing = summary.data !== undefined && !request
  const known: ComparedRequest | null =
    request && explanation.data ? { request, routing: explanation.data.data.routing } : null
  return { known, error, isMissing, calls: [callOf(listed), callOf(explained)] }
}

function Comparison({ ids }: { ids: Ids }) {
  const one = useRequest(ids[0])
  const other = useRequest(ids[1])
  const error = one.error ?? other.error
  const mayRead = mayDo(useSession(), 'contents:read')
  return (
    <Page
      title="Compare requests"
      description="Two requests, with what differs between them."
      calls={[...one.calls, ...other.calls]}
    >
      {one.isMissing || other.isMissing ? (
        <EmptyState title="No such request">One of them does not exist, or you may not see it.</EmptyState>
      ) : error !== null ? (
        <ErrorNotice error={error} />
      ) : one.known && other.known ? (
        <>
          <Fields ids={ids} fields={compareFields(one.known, other.known)} />
          {mayRead && <Messages ids={ids} />}
        </>
      ) : (
        <Text size="sm" aria-label="Loading">
          Loading…
        </Text>
      )}
    </Page>
  )
}

function Fields({ ids, fields }: { ids: Ids; fields: ComparedField[] }) {
  const [isOnlyDifferent, setOnlyDifferent] = useState(true)
  const shown = isOnlyDifferent ? fields.filter(({ isDifferent }) => isDifferent) : fields
  return (
    <Panel
      title="Parameters and figures"
      actions={
        <Switch
          size="sm"
          label="Only differences"
          checked={isOnlyDifferent}
          onChange={(event) => setOnlyDifferent(event.currentTarget.checked)}
        />
      }
    >
      <Table.ScrollContainer minWidth={480}>
        <Table fz="sm" verticalSpacing={6} layout="fixed" aria-label="Parameters and figures">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={160}>Field</Table.Th>
              <RequestHeader id={ids[0]} />
              <RequestHeader id={ids[1]} />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map(({ label, values, isDifferent }) => (
              <Table.Tr key={label} style={{ overflowWrap: 'anywhere' }}>
                <Table.Th scope="row" fw={400}>
                  {label}
                  {isDifferent && !isOnlyDifferent && <VisuallyHidden>, different</VisuallyHidden>}
                </Table.Th>
                <Table.Td fw={isDifferent ? 600 : undefined}>{values[0]}</Table.Td>
                <Table.Td fw={isDifferent ? 600 : undefined}>{values[1]}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

function RequestHeader({ id }: { id: string }) {
  return (
    <Table.Th style={{ overflowWrap: 'anywhere' }}>
      <TextLink to="/requests/$id" params={{ id }}>
        {id}
      </TextLink>
    </Table.Th>
  )
}

/** The messages of both. They are loaded on demand, because every reading is in the audit log. */
function Messages({ ids }: { ids: Ids }) {
  const [isWanted, setWanted] = useState(false)
  const optionsOf = (id: string) =>
    api.queryOptions('get', '/generation/content', { params: { query: { id } } }, { retry: false })
  const one = useQuery({ ...optionsOf(ids[0]), enabled: isWanted })
  const other = useQuery({ ...optionsOf(ids[1]), enabled: isWanted })
  const isMissing = [one, other].some(({ error }) => error instanceof ApiError && error.status === 404)
  if (!isWanted) {
    return (
      <Panel
        title="Messages"
        description="The prompts and replies, if they are stored. The audit log records who reads them."
        actions={
          <Button size="xs" variant="default" onClick={() => setWanted(true)}>
            Show messages
          </Button>
        }
      />
    )
  }
  return (
    <Panel title="Messages">
      {isMissing ? (
        <Text size="sm">The messages of one of the requests were not stored.</Text>
      ) : (
        <QueryView query={one}>
          {({ data: first }) => (
            <QueryView query={other}>
              {({ data: second }) => <MessageDiff contents={[first, second]} />}
            </QueryView>
          )}
        </QueryView>
      )}
    </Panel>
  )
}

type Contents = [Schemas['GenerationContent'], Schemas['GenerationContent']]

function MessageDiff({ contents: [one, other] }: { contents: Contents }) {
  const { before, after, same, isCut } = useMemo(
    () => compareTexts(textsOf(one), textsOf(other)),
    [one, other],
  )
  if (before === after && !isCut) return <Text size="sm">The messages are the same.</Text>
  return (
    <Stack gap="xs">
      {isCut && (
        <Alert color="yellow">
          The messages are too long to compare completely. Only the beginning is shown.
        </Alert>
      )}
      <Group gap="md">
        <Text size="xs" c="dimmed">
          − only in the first, + only in the second
        </Text>
        {same > 0 && (
          <Text size="xs" c="dimmed">
            {formatCount(same)} equal {same === 1 ? 'message' : 'messages'} before
          </Text>
        )}
      </Group>
      <TextDiff label="Differences of the messages" before={before} after={after} />
    </Stack>
  )
}
