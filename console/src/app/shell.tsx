import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, Outlet, useLocation, useMatches } from '@tanstack/react-router'
import { client } from '../api/client.ts'
import { PersonIcon, SunIcon } from '../components/icons.tsx'
import { nameOfPerson } from '../format/person.ts'
import { findNavigationItem, visibleNavigation } from './navigation.ts'
import { NotificationBell } from './notification-bell.tsx'
import { PermittedOutlet } from './permitted-outlet.tsx'
import { Search } from './search.tsx'
import { SessionProvider, useSession } from './session.tsx'
import { goToSignIn } from './sign-in.ts'
import { WorkspaceProvider } from './workspace.tsx'
import { WorkspaceSwitch } from './workspace-switch.tsx'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** Whether the screen is shown to visitors who are not signed in. */
    isPublic?: boolean
  }
}

/** The frame around every screen: navigation, search and account. */
export function Shell() {
  const isPublic = useMatches().some(({ staticData }) => staticData.isPublic)
  return (
    <SessionProvider signedOut={isPublic ? <PublicFrame /> : null}>
      <WorkspaceProvider>
        <Frame />
      </WorkspaceProvider>
    </SessionProvider>
  )
}

/** The frame for visitors who are not signed in. */
function PublicFrame() {
  return (
    <AppShell header={{ height: 52 }} padding="md">
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Text fw={700}>Headgate</Text>
          <Group gap="xs" wrap="nowrap">
            <ColorSchemeButton />
            <Button size="xs" onClick={goToSignIn}>
              Sign in
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Main>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  )
}

function Frame() {
  const [isOpen, { toggle, close }] = useDisclosure()
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            />
            <Text fw={700} component={Link} to="/" c="inherit" td="none">
              Headgate
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Search />
            <NotificationBell />
            <ColorSchemeButton />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label="Screens">
        <ScrollArea p="xs">
          <WorkspaceSwitch />
          <Navigation onNavigate={close} />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main>
        <PermittedOutlet />
      </AppShell.Main>
    </AppShell>
  )
}

function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const session = useSession()
  const { pathname } = useLocation()
  return visibleNavigation(session).map((group) => (
    <div key={group.label}>
      <Text size="xs" c="dimmed" fw={600} px="sm" pt="sm" pb={4}>
        {group.label}
      </Text>
      {group.items.map(({ label, to }) => (
        <NavLink
          key={to}
          label={label}
          component={Link}
          to={to}
          onClick={onNavigate}
          active={to === findNavigationItem(pathname)?.to}
        />
      ))}
    </div>
  ))
}

function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const label = scheme === 'dark' ? 'Light mode' : 'Dark mode'
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}
      >
        <SunIcon />
      </ActionIcon>
    </Tooltip>
  )
}

function AccountMenu() {
  const { member, organization, session_id } = useSession()
  const name = nameOfPerson(member)
  const signOut = async () => {
    await client.DELETE('/sessions/{id}', { params: { path: { id: session_id } } })
    location.assign(new URL('signin', document.baseURI))
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label="Account">
          <PersonIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name}
          <br />
          {organization.name}
        </Menu.Label>
        <Menu.Item component={Link} to="/account">
          Your account
        </Menu.Item>
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
