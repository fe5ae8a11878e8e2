import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  type MantineBreakpoint,
  Menu,
  ScrollArea,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure, useLocalStorage, useMediaQuery } from '@mantine/hooks'
import { Link, Outlet, useMatches, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { client } from '../api/client.ts'
import { BookIcon, MenuIcon, MoonIcon, PersonIcon, SunIcon } from '../components/icons.tsx'
import { nameOfPerson } from '../format/person.ts'
import { Logo } from '../theme/logo.tsx'
import { motionMs } from '../theme/tokens.ts'
import { ScreenMenu } from './menu.tsx'
import { NotificationBell } from './notification-bell.tsx'
import { PermittedOutlet } from './permitted-outlet.tsx'
import { forgetRecentPlaces, useRecordedPlaces } from './recent-places.ts'
import { Search } from './search.tsx'
import { SessionProvider, useSession } from './session.tsx'
import { ShortcutHelp } from './shortcut-help.tsx'
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
      <SkipLink />
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Brand />
          <Group gap="xs" wrap="nowrap">
            <ColorSchemeButton />
            <Button size="xs" onClick={goToSignIn}>
              Sign in
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Main id={contentId} tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  )
}

function Frame() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const [isCompact, setCompact] = useLocalStorage({ key: 'headgate-menu-compact', defaultValue: false })
  const isWide = useMediaQuery('(min-width: 48em)', true, { getInitialValueInEffect: false })
  const [isHelping, help] = useDisclosure()
  useRecordedPlaces()
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: isCompact ? 52 : 208, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
      transitionDuration={motionMs}
    >
      <SkipLink />
      <AppShell.Header>
        <Group h="100%" px="sm" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap" miw={0}>
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            />
            <IconButton
              label={isCompact ? 'Expand the menu' : 'Collapse the menu'}
              visibleFrom="sm"
              onClick={() => setCompact(!isCompact)}
            >
              <MenuIcon />
            </IconButton>
            <Brand />
            {isWide && <WorkspaceSwitch />}
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Search />
            <ReferenceButton />
            <NotificationBell />
            <ColorSchemeButton />
            <AccountMenu onShortcuts={help.open} />
          </Group>
        </Group>
        <ShortcutHelp isOpen={isHelping} onOpen={help.open} onClose={help.close} />
      </AppShell.Header>
      <AppShell.Navbar aria-label="Screens">
        <ScrollArea p="xs" type="auto">
          {!isWide && <WorkspaceSwitch />}
          <ScreenMenu isCompact={isCompact && isWide} onNavigate={close} />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id={contentId} tabIndex={-1}>
        <PermittedOutlet />
      </AppShell.Main>
    </AppShell>
  )
}

const contentId = 'content'

/** The first stop of the keyboard, which leads past the header and the menu. */
function SkipLink() {
  return (
    <button
      type="button"
      className="headgate-skip"
      onClick={() => document.getElementById(contentId)?.focus()}
    >
      Skip to content
    </button>
  )
}

function Brand() {
  return (
    <Text component={Link} to="/" className="headgate-brand" c="inherit" td="none" fw={600} fz="md">
      <Logo />
      Headgate
    </Text>
  )
}

interface IconButtonProps {
  label: string
  visibleFrom?: MantineBreakpoint
  onClick: () => void
  children: ReactNode
}

function IconButton({ label, children, ...props }: IconButtonProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} {...props}>
        {children}
      </ActionIcon>
    </Tooltip>
  )
}

function ReferenceButton() {
  const navigate = useNavigate()
  return (
    <IconButton label="API reference" visibleFrom="sm" onClick={() => void navigate({ to: '/reference' })}>
      <BookIcon />
    </IconButton>
  )
}

function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  return (
    <IconButton
      label={isDark ? 'Light mode' : 'Dark mode'}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      {isDark ? <SunIcon /> : <MoonIcon />}
    </IconButton>
  )
}

function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const { member, organization, session_id } = useSession()
  const name = nameOfPerson(member)
  const signOut = async () => {
    await client.DELETE('/sessions/{id}', { params: { path: { id: session_id } } })
    forgetRecentPlaces(member.id)
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
        <Menu.Item component="a" href="docs" target="_blank">
          Documentation
        </Menu.Item>
        <Menu.Item onClick={onShortcuts} visibleFrom="sm">
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
