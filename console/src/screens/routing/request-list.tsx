import { Button, FileButton, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { mayDo, useSession } from '../../app/session.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { downloadText } from '../../components/download.ts'
import { Panel } from '../../components/panel.tsx'
import { ComposeRequest } from './compose-request.tsx'
import { RecentRequests } from './recent-requests.tsx'
import { maxRequests, readSet, type SavedRequest, writeSet } from './request-set.ts'

interface RequestListProps {
  requests: SavedRequest[]
  onChange: (requests: SavedRequest[]) => void
}

/** The requests that are tried. */
export function RequestList({ requests, onChange }: RequestListProps) {
  return (
    <Panel
      title="Requests"
      description={`Up to ${maxRequests}. Stored in this browser only. Export them to share them.`}
      actions={<ListActions requests={requests} onChange={onChange} />}
    >
      {requests.length === 0 ? (
        <Text size="sm">Add typical requests of your applications to see the effect of a change.</Text>
      ) : (
        <DataTable
          rows={requests}
          keyOf={({ id }) => id}
          minWidth={300}
          columns={[
            { header: 'Name', breaksWords: true, render: ({ name }) => name },
            { header: 'Model', breaksWords: true, render: ({ body }) => modelOf(body) },
            { header: 'Format', visibleFrom: 'sm', render: ({ format }) => format ?? 'detected' },
            {
              header: 'Actions',
              isHeaderHidden: true,
              render: (request) => <RowActions request={request} requests={requests} onChange={onChange} />,
            },
          ]}
        />
      )}
    </Panel>
  )
}

function modelOf({ model, models }: SavedRequest['body']): string {
  if (typeof model === 'string') return model
  return Array.isArray(models) ? models.join(', ') : 'the default one'
}

function RowActions({ request, requests, onChange }: RequestListProps & { request: SavedRequest }) {
  return (
    <Group gap="xs" justify="flex-end">
      <DialogButton label="Edit" description={`Edit ${request.name}`} variant="default">
        {(close) => (
          <ComposeRequest
            request={request}
            onSave={(saved) => onChange(requests.map((other) => (other.id === request.id ? saved : other)))}
            onClose={close}
          />
        )}
      </DialogButton>
      <Button
        size="xs"
        variant="default"
        aria-label={`Remove ${request.name}`}
        onClick={() => onChange(requests.filter(({ id }) => id !== request.id))}
      >
        Remove
      </Button>
    </Group>
  )
}

function ListActions({ requests, onChange }: RequestListProps) {
  const session = useSession()
  const [problem, setProblem] = useState<string | null>(null)
  const isFull = requests.length >= maxRequests
  const add = (request: SavedRequest) => onChange([...requests, request].slice(0, maxRequests))
  const load = async (file: File | null) => {
    const read = file ? readSet(await file.text()) : []
    setProblem(typeof read === 'string' ? read : null)
    if (typeof read !== 'string' && read.length > 0) onChange([...requests, ...read].slice(0, maxRequests))
  }
  return (
    <>
      {problem && (
        <Text size="xs" c="red" role="alert">
          {problem}
        </Text>
      )}
      {!isFull && (
        <DialogButton label="Compose">
          {(close) => <ComposeRequest request={null} onSave={add} onClose={close} />}
        </DialogButton>
      )}
      {!isFull && mayDo(session, 'generations:read') && mayDo(session, 'contents:read') && (
        <DialogButton label="Add from the log" variant="default">
          {(close) => <RecentRequests onAdd={add} onClose={close} />}
        </DialogButton>
      )}
      <FileButton accept="application/json" onChange={(file) => void load(file)}>
        {(props) => (
          <Button {...props} size="xs" variant="default">
            Import
          </Button>
        )}
      </FileButton>
      {requests.length > 0 && (
        <Button
          size="xs"
          variant="default"
          onClick={() => downloadText('routing-requests.json', writeSet(requests), 'application/json')}
        >
          Export
        </Button>
      )}
    </>
  )
}
