// Asks for the token that digd requires. The page keeps it in the tab's session storage and sends it to digd only.
import {useState} from 'preact/hooks';
import {setToken} from '../net/session';

export function TokenDialog({reason, given}: {reason: string; given(): void}) {
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
        <p>
          This daemon requires a token. The rights <code>read</code> and <code>watch</code> show everything here;
          <code>operate</code> also allows the switch and judgements.
        </p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={value}
          onInput={(e) => setValue(e.currentTarget.value)}
        />
        {reason !== '' && (
          <p class="wrong" role="alert">
            {reason}
          </p>
        )}
        <button class="primary" type="submit">
          Open
        </button>
        <p class="hint">
          <code>digctl token NAME --rights read,watch,operate --append FILE</code> creates one. It stays in this tab and
          is forgotten when the tab closes.
        </p>
      </form>
    </main>
  );
}
