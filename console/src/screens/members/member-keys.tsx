import { List, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ButtonLink } from '../../components/button-link.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { runForAll } from '../../components/run-for-all.ts'
import { TextLink } from '../../components/text-link.tsx'

type ApiKey = Schemas['ApiKey']

/** The API has pages of this size. */
const pageSize = 100
/** Keys beyond these are disabled with a second click. */
const maxPages = 20
const maxListed = 5

/** The keys that are not disabled. */
export const memberKeysOptions = (id: string) =>
  api.queryOptions('get', '/keys', { params: { query: { creator_user_id: id } } })

interface MemberKeysProps {
  id: string
  name: string
}

/** The API keys that somebody owns, which can be disabled together when they leave. */
export function MemberKeys({ id, name }: MemberKeysProps) {
  const query = useQuery(memberKeysOptions(id))
  const mayWrite = mayDo(useSession(), 'keys:write')
  const keys = query.data?.data ?? []
  return (
    <Panel
      title="API keys"
      actions={
        <>
          <ButtonLink to="/keys" search={{ creator_user_id: id }}>
            All keys
          </ButtonLink>
          {mayWrite && keys.length > 0 && (
            <DialogButton label="Disable all keys" color="red" variant="outline">
              {(close) => <DisableAll id={id} name={name} onClose={close} />}
            </DialogButton>
          )}
        </>
      }
    >
      <QueryView query={query}>{({ data }) => <KeyList keys={data} />}</QueryView>
    </Panel>
  )
}

function KeyList({ keys }: { keys: ApiKey[] }) {
  if (keys.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No enabled keys.
      </Text>
    )
  }
  return (
    <List size="sm">
      {keys.slice(0, maxListed).map(({ hash, name }) => (
        <List.Item key={hash} style={{ overflowWrap: 'anywhere' }}>
          <TextLink to="/keys/$hash" params={{ hash }}>
            {name}
          </TextLink>
        </List.Item>
      ))}
      {keys.length > maxListed && <List.Item>{countMore(keys.length)} more</List.Item>}
    </List>
  )
}

/** A full page may not be all. */
function countMore(count: number): string {
  return `${count - maxListed}${count < pageSize ? '' : ' or'}`
}

function DisableAll({ id, name, onClose }: MemberKeysProps & { onClose: () => void }) {
  const refresh = useRefresh()
  const disable = async () => {
    await runForAll(await listKeys(id), 'key', ({ hash }) =>
      client.PATCH('/keys/{hash}', { params: { path: { hash } }, body: { disabled: true } }),
    )
    await refresh('/keys', '/keys/{hash}', '/budgets')
  }
  return (
    <FormDialog title={`Disable all keys of ${name}`} action="Disable" onSubmit={disable} onClose={onClose}>
      <Text size="sm">
        Applications that use these keys are rejected immediately. You can enable keys again one by one.
      </Text>
    </FormDialog>
  )
}

async function listKeys(id: string): Promise<ApiKey[]> {
  const keys: ApiKey[] = []
  for (let page = 0; page < maxPages; page++) {
    const query = { creator_user_id: id, offset: keys.length }
    const { data } = await client.GET('/keys', { params: { query } })
    const found = data?.data ?? []
    keys.push(...found)
    if (found.length < pageSize) break
  }
  return keys
}
