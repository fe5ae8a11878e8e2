import { Alert, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { DangerPanel } from '../../components/danger-panel.tsx'
import { Fields } from '../../components/fields.tsx'
import { Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount } from '../../format/number.ts'

type Receipt = Schemas['Erasure']

const pollMs = 2000

/** Deletes what is stored of an end user, and shows the receipt. */
export function ErasePanel({ name }: { name: string }) {
  const [receipt, setReceipt] = useState<Receipt | null>(null)
  const refresh = useRefresh()
  const erase = async () => {
    const { data } = await client.DELETE('/end-users/{id}/data', { params: { path: { id: name } } })
    setReceipt(data?.data ?? null)
    await refresh('/end-users/{id}', '/end-users', '/generations')
  }
  return (
    <>
      {receipt && <ReceiptPanel sent={receipt} />}
      <DangerPanel
        title="Erase data"
        description="Deletes prompts, replies, stored responses and conversations of this end user, and replaces the name in the records of requests by a pseudonym. Costs and sums stay."
        action="Erase data"
        name={name}
        onConfirm={erase}
      >
        What is stored of {name} until now is deleted, and cannot be restored. Later requests are recorded as
        before.
      </DangerPanel>
    </>
  )
}

const countNames: Record<string, string> = {
  requests: 'Requests renamed',
  contents: 'Prompts and replies',
  feedback: 'Feedback',
  stored_responses: 'Stored responses',
  conversations: 'Conversations',
  videos: 'Videos',
  similar_replies: 'Semantically cached replies',
  undelivered_events: 'Events not yet delivered',
  refused_requests: 'Refused requests',
  limit_counters: 'Counts of limits',
  cached_replies: 'Cached replies',
}

/** The receipt, which is read again until the deletion is done. */
function ReceiptPanel({ sent }: { sent: Receipt }) {
  const mayRead = mayDoEverywhere(useSession(), 'privacy:read')
  const options = api.queryOptions('get', '/end-user-erasures/{id}', { params: { path: { id: sent.id } } })
  const query = useQuery({
    ...options,
    enabled: mayRead,
    refetchInterval: ({ state }) => (state.data?.data.status === 'completed' ? false : pollMs),
  })
  const receipt = query.data?.data ?? sent
  const isDone = receipt.status === 'completed'
  const counts = Object.entries(receipt.counts).filter(([, count]) => count > 0)
  return (
    <Panel
      title="Receipt"
      description="Keep this ID to read the receipt later. The receipt is also in the audit log."
    >
      <Stack gap="sm">
        <Alert color={isDone ? 'teal' : 'blue'} role="status">
          {isDone ? 'Everything was erased.' : 'The deletion is running.'}
        </Alert>
        <Fields
          fields={[
            ['Id', <Id key="id" value={receipt.id} label="Copy the id of the receipt" />],
            ['Pseudonym', <Id key="pseudonym" value={receipt.pseudonym} label="Copy the pseudonym" />],
            ['Requested', <Time key="requested" iso={receipt.requested_at} />],
            ['Completed', <Time key="completed" iso={receipt.completed_at} />],
            ...counts.map(([kind, count]): [string, string] => [
              countNames[kind] ?? kind.replaceAll('_', ' '),
              formatCount(count),
            ]),
          ]}
        />
        {receipt.not_reached.map(({ kind, note }) => (
          <Text key={kind} size="sm" c="dimmed">
            {note}
          </Text>
        ))}
      </Stack>
    </Panel>
  )
}
