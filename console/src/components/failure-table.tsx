import { Text } from '@mantine/core'
import type { Schemas } from '../api/client.ts'
import { type Column, DataTable } from './data-table.tsx'
import { StatusBadge } from './status-badge.tsx'
import { TextLink } from './text-link.tsx'
import { Time } from './time.tsx'

type LoggedRequest = Schemas['LoggedRequest']

interface FailureTableProps {
  requests: readonly LoggedRequest[]
  /** Whether they differ in status and workspace, which then have columns. */
  isMixed?: boolean
}

/** Requests that failed or were refused, each with its error. */
export function FailureTable({ requests, isMixed = false }: FailureTableProps) {
  return (
    <DataTable
      rows={requests}
      keyOf={({ id }) => id}
      minWidth={300}
      columns={[time, isMixed && status, error, model, key, isMixed && workspace]}
    />
  )
}

const time: Column<LoggedRequest> = {
  header: 'Time',
  render: ({ id, created_at }) => (
    <TextLink to="/requests/$id" params={{ id }} size="sm" style={{ whiteSpace: 'nowrap' }}>
      <Time iso={created_at} style="age" />
    </TextLink>
  ),
}

const status: Column<LoggedRequest> = {
  header: 'Status',
  visibleFrom: 'sm',
  render: (request) => <StatusBadge status={request.status} />,
}

const error: Column<LoggedRequest> = {
  header: 'Error',
  breaksWords: true,
  maxWidth: 420,
  render: ({ error_code, message, requests }) => (
    <Text size="sm" lineClamp={2} component="div">
      {message ?? error_code ?? 'canceled'}
      {requests > 1 && ` (${requests} times)`}
    </Text>
  ),
}

const model: Column<LoggedRequest> = {
  header: 'Model',
  breaksWords: true,
  visibleFrom: 'sm',
  render: (request) => request.model ?? request.requested_model ?? '–',
}

const key: Column<LoggedRequest> = {
  header: 'Key',
  breaksWords: true,
  visibleFrom: 'md',
  render: (request) => request.key?.name ?? '–',
}

const workspace: Column<LoggedRequest> = {
  header: 'Workspace',
  visibleFrom: 'lg',
  render: (request) => (
    <Text size="sm" truncate maw={160}>
      {request.workspace.name ?? request.workspace.id}
    </Text>
  ),
}
