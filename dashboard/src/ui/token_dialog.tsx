// Asks for the token, where digd wants one. It is kept in this tab's session storage and goes nowhere but to digd.
import {useState} from 'preact/hooks';
import {setToken} from '../net/session';

export function TokenDialog({why, given}: {why: string; given(): void}) {
  const [value, setValue] = useState('');
  const submit = (e: Event): void => {
    e.preventDefault();
    const text = value.trim();
    if (text === '') return;
    setToken(text);
    given();
  };
  return (
    <main class="token">
      <form onSubmit={submit}>
        <h1>digd</h1>
        <p>This daemon wants a token. One with the rights <code>read</code> and <code>watch</code> shows everything here,
          <code>operate</code> moves the switch.</p>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" spellcheck={false} autofocus value={value}
          onInput={(e) => setValue(e.currentTarget.value)} />
        {why !== '' && <p class="wrong" role="alert">{why}</p>}
        <button class="primary" type="submit">Open</button>
        <p class="hint"><code>digctl token NAME --rights read,watch,operate --append FILE</code> makes one. It stays in this tab and is
          forgotten with it.</p>
      </form>
    </main>
  );
}
