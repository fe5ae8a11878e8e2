import { Paper, SimpleGrid } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client.ts'
import { mayDo, type Permission, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { Fact } from '../../components/fact.tsx'
import { Money } from '../../components/money.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, formatDuration } from '../../format/number.ts'
import { EndUser } from './end-user.tsx'

type LoggedRequest = Schemas['LoggedRequest']

interface SummaryProps {
  request: LoggedRequest
  record: Schemas['Generation'] | undefined
}

export function Summary({ request, record }: SummaryProps) {
  return (
    <Paper withBorder p="md">
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Fact label="Status">
          <StatusBadge status={request.status} /> {request.error_code}
        </Fact>
        <Fact label="Time">
          <Time iso={request.created_at} />
        </Fact>
        <Server request={request} />
        <Fact label="Charged">
          <Money value={request.cost} />
          {request.is_cached && ` (${describeCache(record)})`}
        </Fact>
        <Fact label="Tokens">{describeTokens(request)}</Fact>
        <Fact label="Duration">
          {formatDuration(request.latency)}
          {request.first_token !== null && `, first token after ${formatDuration(request.first_token)}`}
        </Fact>
        <Origin request={request} />
        <Fact label="Format">
          {request.format ?? 'not read'}
          {request.streamed && ', streamed'}
        </Fact>
        <Fact label="Finish reason">{request.finish_reason ?? '–'}</Fact>
        {record?.headgate.cache_savings != null && (
          <Fact label="Saved by the prompt cache">
            <Money value={record.headgate.cache_savings} />
            {record.headgate.cache_breakpoints > 0 && ' (breakpoints added)'}
          </Fact>
        )}
        {record && <Fact label="Client">{record.user_agent ?? '–'}</Fact>}
        {record && <Fact label="Provider format">{record.headgate.upstream_format ?? '–'}</Fact>}
        {record && <Fact label="Provider request ID">{record.upstream_id ?? '–'}</Fact>}
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }} pt="md">
        <Fact label="Generation ID">
          <Id value={request.id} />
        </Fact>
        {request.request_id !== null && (
          <Fact label="Request ID">
            <Id value={request.request_id} label="Copy the request id" />
          </Fact>
        )}
      </SimpleGrid>
    </Paper>
  )
}

function describeCache(record: SummaryProps['record']): string {
  const similarity = record?.headgate.cache_similarity ?? null
  return similarity === null ? 'response cache' : `semantic cache, similarity ${similarity}`
}

function describeTokens({ tokens_prompt, tokens_completion, tokens_cached }: LoggedRequest): string {
  if (tokens_prompt === null) return '–'
  return `${formatCount(tokens_prompt)} in (${formatCount(tokens_cached ?? 0)} cached), ${formatCount(tokens_completion ?? 0)} out`
}

/** Shows the provider that replied or, without a reply, was tried last. */
function Server({ request }: { request: LoggedRequest }) {
  const { status, provider, provider_name, model, first_token } = request
  if (provider_name === null) return <Fact label="Provider">none was called</Fact>
  const isServed = status === 'completed' || first_token !== null
  const [author = '', ...slug] = (model ?? '').split('/')
  return (
    <Fact label={isServed ? 'Served by' : 'Tried last'}>
      <Linked permission="byok:read">
        {provider !== null && (
          <TextLink to="/providers/$slug" params={{ slug: provider }}>
            {provider_name}
          </TextLink>
        )}
        {provider_name}
      </Linked>
      {model !== null && (
        <>
          {' · '}
          <TextLink to="/models/$author/$slug" params={{ author, slug: slug.join('/') }}>
            {model}
          </TextLink>
        </>
      )}
    </Fact>
  )
}

/** Shows the sender. Each part links to its own screen; the session and the app link to their other requests. */
function Origin({ request }: { request: LoggedRequest }) {
  const { key, user, workspace, app, session_id, external_user, created_at } = request
  const workspaceName = workspace.name ?? workspace.id
  const appName = app?.title ?? app?.url
  return (
    <>
      <Fact label="Key">
        {key === null ? (
          'none, or deleted'
        ) : (
          <Linked permission="keys:read">
            <TextLink to="/keys/$hash" params={{ hash: key.hash }}>
              {key.name}
            </TextLink>
            {key.name}
          </Linked>
        )}
      </Fact>
      <Fact label="Member">
        {user === null ? (
          '–'
        ) : (
          <Linked permission="members:read">
            <TextLink to="/members/$id" params={{ id: user.id }}>
              {user.name ?? user.id}
            </TextLink>
            {user.name ?? user.id}
          </Linked>
        )}
      </Fact>
      <Fact label="Workspace">
        <Linked permission="workspaces:read">
          <TextLink to="/workspaces/$id" params={{ id: workspace.id }}>
            {workspaceName}
          </TextLink>
          {workspaceName}
        </Linked>
      </Fact>
      <Fact label="App">
        {app?.url ? (
          <TextLink to="/requests" search={{ app: app.url, period: 'all' }}>
            {appName}
          </TextLink>
        ) : (
          (appName ?? '–')
        )}
      </Fact>
      {external_user !== null && (
        <Fact label="End user">
          <EndUser id={external_user} />
        </Fact>
      )}
      {session_id !== null && (
        <Fact label="Session">
          <TextLink to="/sessions/$id" params={{ id: session_id }} search={{ at: created_at }}>
            {session_id}
          </TextLink>
        </Fact>
      )}
    </>
  )
}

interface LinkedProps {
  permission: Permission
  /** The link, then the text for those who may not open it. */
  children: [link: ReactNode, text: ReactNode]
}

/** A link for those who may open its screen; plain text for the others. */
function Linked({ permission, children: [link, text] }: LinkedProps) {
  return mayDo(useSession(), permission) && link ? link : text
}
