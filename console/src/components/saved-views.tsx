import { Button, Menu, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouter, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import { api, client, type Schemas } from '../api/client.ts'
import { useRefresh } from '../api/use-refresh.ts'
import { mayDo, mayDoEverywhere, mayDoIn, type Session, useSession } from '../app/session.tsx'
import { FormDialog } from './form-dialog.tsx'
import { CheckIcon, DownIcon } from './icons.tsx'
import { hasSameSearch, isEmptySearch, type SearchValues, viewSearchOf } from './saved-view-search.ts'
import { ViewDialog } from './view-dialog.tsx'

type SavedView = Schemas['SavedView']
type Screen = SavedView['screen']

const path = '/saved-views'

/** Named searches of a screen that has its search in the address: opened, saved, renamed, shared and deleted here. */
export function SavedViews({ screen }: { screen: Screen }) {
  return mayDo(useSession(), 'saved_views:read') ? <ViewMenu screen={screen} /> : null
}

function ViewMenu({ screen }: { screen: Screen }) {
  const session = useSession()
  const { views, search, open } = useViews(screen)
  const [openedId, setOpenedId] = useState<string | null>(null)
  const [dialog, setDialog] = useState<'save' | 'edit' | 'delete' | null>(null)
  const refresh = useRefresh()
  const opened = views.find(({ id }) => id === openedId)
  const current =
    opened && !isEmptySearch(search) ? opened : views.find((view) => hasSameSearch(view.search, search))
  const isChanged = current !== undefined && !hasSameSearch(current.search, search)
  const choose = (view: SavedView) => {
    setOpenedId(view.id)
    open(view.search)
  }
  const overwrite = async ({ id }: SavedView) => {
    await client.PATCH('/saved-views/{id}', { params: { path: { id } }, body: { search } })
    await refresh(path)
  }
  const close = () => setDialog(null)
  return (
    <>
      <Menu position="bottom-end" width={280} closeOnItemClick>
        <Menu.Target>
          <Button size="xs" variant="default" rightSection={<DownIcon />} maw={240}>
            {current ? `${current.name}${isChanged ? ' · Changed' : ''}` : 'Views'}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
          <ViewItems views={views} current={current} onOpen={choose} />
          {current && (isChanged || mayChange(session, current)) && (
            <>
              <Menu.Divider />
              <Menu.Label>{current.name}</Menu.Label>
            </>
          )}
          {current && isChanged && mayChange(session, current) && (
            <Menu.Item onClick={() => void overwrite(current)}>Save changes</Menu.Item>
          )}
          {current && isChanged && <Menu.Item onClick={() => choose(current)}>Discard changes</Menu.Item>}
          {current && mayChange(session, current) && (
            <>
              <Menu.Item onClick={() => setDialog('edit')}>Rename or share…</Menu.Item>
              <Menu.Item color="red" onClick={() => setDialog('delete')}>
                Delete…
              </Menu.Item>
            </>
          )}
          {mayDo(session, 'saved_views:write') && (
            <>
              <Menu.Divider />
              <Menu.Item onClick={() => setDialog('save')}>Save as a new view…</Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {dialog === 'save' && <ViewDialog draft={{ screen, search }} onSaved={setOpenedId} onClose={close} />}
      {dialog === 'edit' && current && <ViewDialog view={current} onSaved={setOpenedId} onClose={close} />}
      {dialog === 'delete' && current && <DeleteView view={current} onClose={close} />}
    </>
  )
}

function useViews(screen: Screen) {
  const router = useRouter()
  const navigate = useNavigate()
  const address = useRouterState({ select: ({ location }) => location.searchStr })
  const query = { screen, limit: 100 }
  const { data } = useQuery(api.queryOptions('get', path, { params: { query } }))
  const open = (values: SearchValues) => {
    const search = router.options.parseSearch(`?${new URLSearchParams(values)}`)
    void navigate({ to: '.', search })
  }
  return { views: data?.data ?? [], search: viewSearchOf(address), open }
}

interface ViewItemsProps {
  views: SavedView[]
  current: SavedView | undefined
  onOpen: (view: SavedView) => void
}

function ViewItems({ views, current, onOpen }: ViewItemsProps) {
  if (views.length === 0) {
    return (
      <Text size="xs" c="dimmed" p="xs">
        A view saves the filters of this screen under a name.
      </Text>
    )
  }
  const groups = [
    { label: 'Private', members: views.filter(({ visibility }) => visibility === 'private') },
    { label: 'Shared', members: views.filter(({ visibility }) => visibility !== 'private') },
  ]
  return groups.map(
    ({ label, members }) =>
      members.length > 0 && (
        <div key={label}>
          <Menu.Label>{label}</Menu.Label>
          {members.map((view) => (
            <Menu.Item
              key={view.id}
              aria-current={view === current ? 'true' : undefined}
              rightSection={view === current && <CheckIcon />}
              onClick={() => onOpen(view)}
              style={{ overflowWrap: 'anywhere' }}
            >
              {view.name}
            </Menu.Item>
          ))}
        </div>
      ),
  )
}

function mayChange(session: Session, { visibility, workspace_id }: SavedView): boolean {
  if (visibility === 'private') return mayDo(session, 'saved_views:write')
  return workspace_id === null
    ? mayDoEverywhere(session, 'shared_views:write')
    : mayDoIn(session, workspace_id, 'shared_views:write')
}

function DeleteView({ view: { id, name, visibility }, onClose }: { view: SavedView; onClose: () => void }) {
  const refresh = useRefresh()
  const remove = async () => {
    await client.DELETE('/saved-views/{id}', { params: { path: { id } } })
    await refresh(path)
  }
  return (
    <FormDialog title={`Delete “${name}”`} action="Delete" onSubmit={remove} onClose={onClose}>
      <Text size="sm">
        {visibility === 'private'
          ? 'The view is removed from your list. Nothing else changes.'
          : 'The view is removed for everyone it is shared with. Nothing else changes.'}
      </Text>
    </FormDialog>
  )
}
